"""Recognises how a container ended, or that it couldn't be started, in what container tools print.

- docker compose: `NAME exited with code 137`, `(restarting)` behind it; colours are gone by then
- `kubectl describe pod`: `Last State: Terminated` with `Reason:` and `Exit Code:` below it; the events' liveness probes
- `docker inspect`: the object `"State"`, indented or on one line
- `kubectl get events`: `OOMKilling`
- runc's and nvidia-container-cli's errors behind `OCI runtime`
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from ddtree_ops.triage.block import Block, Evidence, Origin
from ddtree_ops.triage.lines import Line, Prefix, evidence

EXITED = re.compile(
    r"(?!(?:process|command|script|program|child|job|it) )(?P<name>[a-z0-9][\w.-]{0,200}) exited with code (?P<code>\d{1,3})"
    r"(?: \(restarting\))?$"
)
EVENT = re.compile(r"(?:.{0,200}\s)?OOMKilling\s.{0,400}?(?:Kill(?:ed)? process (?P<pid>\d{1,10}) \((?P<name>.{1,64}?)\)|$)")
STARTING = re.compile(
    r".{0,400}?(?:OCI runtime (?:create|exec|start) failed|failed to create shim task"
    r"|could not select device driver .{0,40}capabilities: \[\[gpu)|.{0,40}?nvidia-container-cli: "
)
FIELD = re.compile(r"\s{0,40}(?P<name>State|Last State|Reason|Exit Code|Message): {1,24}(?P<value>\S.{0,1000})$")
INSPECTED = re.compile(r"\"(?P<name>OOMKilled|ExitCode|Error)\": ?(?P<value>true|false|-?\d{1,4}|\"[^\"]{0,1000}\")")
PROBE = re.compile(r".{0,400}?(?:Liveness probe failed|failed (?:liveness|startup) probe)")
_STATE_BEGINS = re.compile(r"\s{0,40}(?:Last )?State: {1,24}(?:Terminated|Waiting|Running)\b|\s{0,40}\"State\": ?\{$")
_STATE_LINES = 24
_LINES_LIMIT = 16
_LINE_LENGTH = 2000
_PEACEFUL = frozenset({"0", "130", "143"})  # SIGINT and SIGTERM are how a container is told to stop


class Containers:
    """Feed it every line (recogniser.py)."""

    literals: ClassVar[tuple[str, ...]] = (
        " exited with code ",
        "OOMKilled",
        "OOMKilling",
        "OCI runtime ",
        "failed to create shim task",
        "could not select device driver",
        "nvidia-container-cli: ",
        "Exit Code: ",
        "Last State: ",
        "ExitCode",
        "iveness probe",
        "startup probe",
    )

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._told: list[Evidence] = []
        self._comm: str | None = None
        self._expects = 0  # lines of a state that may still come
        self._failed = False

    @property
    def busy(self) -> bool:
        """Whether the lines of a state or of an error come."""
        return self._expects > 0

    def feed(self, line: Line, prefix: Prefix) -> Sequence[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it)."""
        text = line.text
        self._expects = max(0, self._expects - 1)
        if not self._expects and not any(literal in text for literal in (*self.literals, '"State"')):
            return ()
        if prefix.dated or line.progress:
            return ()
        return self._read(text[:_LINE_LENGTH].rstrip(), line)

    def settle(self) -> Sequence[Block]:
        """Nothing: only the end of the log, or another state, ends one."""
        return ()

    def flush(self) -> Sequence[Block]:
        """Give out what was read, if it was a failure."""
        lines, told, failed = self._lines, self._told, self._failed
        self._lines, self._told, self._failed, self._expects = [], [], False, 0
        return [self._block(lines, told)] if failed else ()

    def _read(self, text: str, line: Line) -> Sequence[Block]:
        exited = EXITED.match(text)
        if exited:
            return () if exited["code"] in _PEACEFUL else [self._block([text], [evidence(line)])]
        event = EVENT.match(text)
        if event:
            subjects = (int(event["pid"]),) if event["pid"] else ()
            return [self._block([text], [evidence(line)], subjects)]
        if STARTING.match(text):
            self._keep(text, line, failed=True, expects=4)
        elif _STATE_BEGINS.match(text):
            return self._begin(text, line)
        elif PROBE.match(text):
            self._keep(text, line, failed="failed" in text and "probe, " in text)
        elif (self._expects and FIELD.match(text)) or (INSPECTED.search(text) and (self._expects or "OOMKilled" in text)):
            self._keep(text, line, failed=_failed(text), expects=self._expects)
        return ()

    def _begin(self, text: str, line: Line) -> Sequence[Block]:
        """A container's state follows its last one, so the next container is what begins a new block."""
        done = self.flush() if self._failed and "Last State" not in text else ()
        self._keep(text, line, expects=_STATE_LINES)
        return done

    def _keep(self, text: str, line: Line, *, failed: bool = False, expects: int = 0) -> None:
        self._comm, self._expects, self._failed = line.entry.comm, max(self._expects, expects), self._failed or failed
        if len(self._lines) < _LINES_LIMIT:
            self._lines.append(text)
            self._told.append(evidence(line))

    def _block(self, lines: list[str], told: list[Evidence], subjects: tuple[int, ...] = ()) -> Block:
        return Block(
            pid=None,
            rank=None,
            comm=self._comm,
            header="",
            record=False,
            exceptions=(),
            evidence=tuple(told),
            first_us=told[0].time_us,
            last_us=told[-1].time_us,
            origin=Origin.CONTAINER,
            lines=tuple(lines),
            subjects=subjects,
        )


def _failed(text: str) -> bool:
    field = FIELD.match(text)
    if field:
        code = field["name"] == "Exit Code" and field["value"] not in _PEACEFUL
        return code or (field["name"] == "Reason" and field["value"] in ("OOMKilled", "StartError", "ContainerCannotRun"))
    return any(
        (found["name"] == "OOMKilled" and found["value"] == "true")
        or (found["name"] == "ExitCode" and found["value"] not in _PEACEFUL)
        for found in INSPECTED.finditer(text)
    )
