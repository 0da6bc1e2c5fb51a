"""When a load last moved, as it can be seen without root: the launcher's text, the log, CPU time and tasks of the unit's cgroup.

What counts is what the launcher counts (sglang_ddtree/progress.py): CPU time proves nothing while ranks that wait for each
other spin, and a line about an answered poll of /health or /metrics proves nothing at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddtree_ops.ports import Command
from ddtree_ops.units.json_object import json_object
from ddtree_ops.units.phases import Phase
from ddtree_ops.units.whole_number import whole_number

#: Properties of a unit beyond those of units/systemctl.py (org.freedesktop.systemd1(5)); `[not set]` without accounting.
PROPERTIES = ("CPUUsageNSec", "TasksCurrent")
_CPU_SHARE = 0.05  # of one core
_SPINNING = (Phase.DISTRIBUTED_INIT, Phase.WARMUP)
_POLL_LINE = re.compile(r'INFO: .*"(?:GET|HEAD) /')
_LINES = 16
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a load. `at` and `log` (of the newest line that proves something) are the host's Unix time."""

    at: float
    invocation: str
    status: str
    phase: Phase | None
    cpu_seconds: float | None
    tasks: int | None
    log: float | None


class Movement:
    """Takes one look after the other at one unit; `last` is when it moved."""

    def __init__(self) -> None:
        self.last = 0.0
        self._before: Look | None = None

    def take(self, now: Look, started: float) -> None:
        """`started`: when the load began, which is what is known at the first look."""
        before, self._before = self._before, now
        if before is None or before.invocation != now.invocation:
            self.last = started
        elif _moved(before, now):
            self.last = now.at
        self.last = max(self.last, now.log or 0.0)


def _moved(before: Look, now: Look) -> bool:
    if before.status != now.status or before.tasks != now.tasks:
        return True
    if before.cpu_seconds is None or now.cpu_seconds is None or now.phase in _SPINNING:
        return False
    return now.cpu_seconds - before.cpu_seconds >= _CPU_SHARE * max(0.0, now.at - before.at)


def cpu_seconds(value: str | None) -> float | None:
    """CPUUsageNSec; None where it isn't accounted."""
    number = whole_number(value)
    return None if number is None else number / 1e9


def last_lines(unit: str, invocation: str) -> Command:
    """The newest lines of this run. Exit code 1: there are none, or we may not read them."""
    argv = ("journalctl", f"--unit={unit}", "--quiet", "--no-pager", f"--lines={_LINES}", "--output=json")
    run = (f"_SYSTEMD_INVOCATION_ID={invocation}",) if invocation else ()
    return Command((*argv, "--output-fields=MESSAGE", *run), ok=frozenset({0, 1}), timeout=10.0, most_bytes=_MOST_BYTES)


def newest(text: str) -> float | None:
    """Unix time of the newest line that isn't about an answered poll; None if there is none."""
    for line in reversed(text.splitlines()):
        entry = json_object(line) or {}
        message, stamp = entry.get("MESSAGE"), whole_number(str(entry.get("__REALTIME_TIMESTAMP")))
        if stamp is not None and not (isinstance(message, str) and _POLL_LINE.search(message)):
            return stamp / 1e6
    return None
