"""Recognises what systemd itself did to a unit, or couldn't do for it: steps before the program, times, limits.

How the unit's own program ended is told elsewhere (deaths.py): "exit-code" with a status of the program's is no word of
systemd's own; without one, a command beside the program failed (ExecStartPre=), or the log lacks the line. A block is given
out with the unit's result, or at the end of the log if that lacks.
"""

from __future__ import annotations

import re
from typing import ClassVar

from ddtree_ops.triage.block import Block, Evidence
from ddtree_ops.triage.blocks import systemd_words as words
from ddtree_ops.triage.blocks.systemd_denials import Denials
from ddtree_ops.triage.blocks.systemd_unit import Unit, systemd_block
from ddtree_ops.triage.lines import Line, Prefix, evidence

_UNITS_LIMIT = 64
_CANNOT_EXECUTE = "126"  # a shell's status when it may not run a program (POSIX, Shell Command Language 2.8.2)
_OWN_RESULTS = ("start-limit-hit", "resources", "watchdog", "protocol")
_PLAIN_RESULTS = ("exit-code", "signal", "core-dump", "timeout")  # deaths.py tells them, if the main process's end is told

#: What is kept of a unit until its result; whether systemd itself is why it fails then.
_KEPT: tuple[tuple[words.Pattern, bool], ...] = (
    (words.STEP, True),
    (words.START_TIMEOUT, True),
    (words.WATCHDOG, True),
    (words.STOP_TIMEOUT, True),
    (words.ASKED, True),
    (words.TOO_QUICK, True),
    (words.DEPENDENCY, True),
    (words.COUNTER, False),
    (words.DETAIL, False),
)


class Systemd:
    """Feed it every line (recogniser.py)."""

    literals: ClassVar[tuple[str, ...]] = (
        "Starting ",
        "Started ",
        "Failed at step ",
        ": Failed to ",
        ": Unable to ",
        "requested working directory failed",
        " process exited, code=",
        " timed out.",
        "on client request",
        "atchdog timeout",
        "tart request repeated",
        "Scheduled restart job",
        "Failed with result ",
        "failed with result ",
        "(code=exited, status=2",
        " not found.",
        "bad unit file setting",
        "could not be found",
        " is masked",
        ": denied ",
        ":  denied ",
        "apparmor=",
        "SELinux is preventing",
    )

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}
        self._starting: Evidence | None = None
        self._spoken: Line | None = None  # the latest line of a process that isn't the manager's
        self._denials = Denials()
        self._missing: set[str] = set()

    @property
    def busy(self) -> bool:
        """Never: every line that counts has a literal of its own."""
        return False

    def feed(self, line: Line, prefix: Prefix) -> list[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it)."""
        text = line.text[: words.LENGTH]
        if line.entry.pid is not None and line.entry.pid != 1:
            self._spoken = line
        if not words.may_be_manager(line.entry) or not any(literal in text for literal in self.literals):
            return []
        if "denied " in text or "apparmor" in text or "is preventing" in text:
            self._denials.read(line, prefix, self._units.values())
            return []
        said = words.manager_words(line, prefix)
        return self._read(said, line) if said is not None else []

    def settle(self) -> list[Block]:
        """Give out units whose result came; of the others it is still to come."""
        return [block for unit in self._units.values() if unit.over for block in self._close(unit)]

    def flush(self) -> list[Block]:
        """Give out what lacks the unit's result, and denials that nobody asked for, at the end of the log."""
        done = [block for unit in self._units.values() for block in self._close(unit)]
        lone = self._denials.lone()
        self._units.clear()
        self._denials.forget()
        return [systemd_block("", [lone[0]], [lone[1]])] if lone and not done else done

    def _read(self, said: str, line: Line) -> list[Block]:
        if said.startswith(("Start", "Stop")):
            return self._start(said, line)
        if self._keep(said, line):
            return []
        found = words.RESULT.match(said)
        return self._result(found, said, line) if found else self._not_found(said, line)

    def _keep(self, said: str, line: Line) -> bool:
        for pattern, own in _KEPT:
            found = pattern.match(said)
            if found:
                unit = self._of(found["unit"])
                unit.keep(said, line, own=own)
                if pattern is words.STEP and found["step"] == "EXEC" and found["error"].startswith("Permission denied"):
                    self._denials.explain_exec(unit, found["path"])
                return True
        found = words.EXITED.match(said)
        if found:
            self._exited(found, said, line)
        elif words.STATUS.match(said):
            self._of("").keep(said, line, own=True)
            return True
        return found is not None

    def _exited(self, found: re.Match[str], said: str, line: Line) -> None:
        unit, own = self._of(found["unit"]), words.own_step(found)
        main = found["who"].lower() == "main"
        unit.main_ended = unit.main_ended or main
        if self._spoken and not main and not own:
            unit.hear(self._spoken)
        unit.keep(said, line, own=own)
        if own and found["name"] == "EXEC" and not unit.said(words.STEP):
            self._denials.explain_exec(unit, None)
        elif found["status"] == _CANNOT_EXECUTE:
            self._denials.explain_program(unit)

    def _start(self, said: str, line: Line) -> list[Block]:
        found = words.STARTING.match(said)
        if found is None or found["verb"].startswith("Stop"):
            return []
        name, begun = found["unit"] or line.entry.unit, evidence(line) if found["verb"] == "Starting" else None
        if name is None or not name.endswith(".service"):
            self._starting = begun or self._starting
            return []
        unit = self._of(name)
        done = self._close(unit) if unit.over else []
        if begun:
            unit.forget()
            unit.starting = begun
        return done

    def _result(self, found: re.Match[str], said: str, line: Line) -> list[Block]:
        unit = self._of(found["unit"])
        alone = found["result"] in _PLAIN_RESULTS and not unit.main_ended
        unit.keep(said, line, own=alone or found["result"] in _OWN_RESULTS)
        if unit.refused and not unit.over:
            unit.over = True
            return []
        done = self._close(unit)
        if done:
            self._denials.forget()
        return done

    def _not_found(self, said: str, line: Line) -> list[Block]:
        found = words.NOT_FOUND.match(said)
        if found is None or found["name"] in self._missing or len(self._missing) > _UNITS_LIMIT:
            return []
        self._missing.add(found["name"])
        return [systemd_block(found["name"], [said], [evidence(line)])]

    def _close(self, unit: Unit) -> list[Block]:
        done = [unit.block(self._starting)] if unit.own else []
        unit.forget()
        return done

    def _of(self, name: str) -> Unit:
        unit = self._units.get(name)
        if unit is None:
            if len(self._units) >= _UNITS_LIMIT:
                self._units.pop(next(iter(self._units)))
            unit = self._units[name] = Unit(name)
        return unit
