"""SELinux's and AppArmor's denials, until it is known which unit they hit; they come before or after systemd's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ddtree_ops.triage.blocks import systemd_words as words
from ddtree_ops.triage.blocks.kernel_words import kernel_words
from ddtree_ops.triage.blocks.systemd_unit import Denial, Unit
from ddtree_ops.triage.lines import Line, Prefix, evidence

_LIMIT = 8
_LENGTH = 2000


class Denials:
    """The latest few that nobody claimed yet."""

    def __init__(self) -> None:
        self._found: list[Denial] = []

    def read(self, line: Line, prefix: Prefix, units: Iterable[Unit]) -> None:
        """Take a denial; where it isn't enforced (permissive), nothing was denied."""
        text = (kernel_words(line, prefix) or line.text)[:_LENGTH]
        if prefix.dated or not words.DENIED.match(text) or words.PERMISSIVE.search(text):
            return
        waiting = next((unit for unit in units if unit.refused), None) if words.before_exec(text) else None
        if waiting:
            waiting.explain((text, evidence(line)))
        else:
            self._found = [*self._found, (text, evidence(line))][-_LIMIT:]

    def explain_exec(self, unit: Unit, path: str | None) -> None:
        """The denial behind a program that systemd was not allowed to execute: it names the file, or systemd's child."""
        name = path.rpartition("/")[2] if path else None
        unit.refused = not self._claim(unit, lambda text: words.before_exec(text) or bool(name and name in text))

    def explain_program(self, unit: Unit) -> None:
        """The denial behind a program that ran and was not allowed to run another one."""
        self._claim(unit, lambda text: words.denied_program(text) is not None)

    def forget(self) -> None:
        """The kernel and auditd tell each of them: what is left of a claimed one."""
        self._found = []

    def lone(self) -> Denial | None:
        """The first of systemd's child that no unit's words came to."""
        return next((item for item in self._found if words.before_exec(item[0]) and "change_onexec" not in item[0]), None)

    def _claim(self, unit: Unit, fits: Callable[[str], bool]) -> bool:
        denial = next((item for item in reversed(self._found) if fits(item[0])), None)
        if denial is None:
            return False
        unit.explain(denial)
        self._found = [item for item in self._found if item[0] != denial[0]]
        return True
