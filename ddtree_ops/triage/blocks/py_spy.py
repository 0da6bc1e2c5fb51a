"""Dumps of py-spy, which SGLang calls when its watchdog fires or a rank has crashed.

`Process 41: command`, `Python v3.12.3 (path)`, then `Thread 41 (active+gil): "MainThread"` and frames `f (file.py:12)`,
innermost first, native ones without a line (py-spy 0.4, src/dump.rs). A dump is no failure; it shows where one stands.
"""

from __future__ import annotations

import re
from typing import ClassVar

from ddtree_ops.triage.block import Frame, Origin, Thread
from ddtree_ops.triage.blocks.collector import Collector, Draft, Result
from ddtree_ops.triage.blocks.frames import is_in_app

_BEGIN = re.compile(r"Pyspy dump for PID (?P<pid>\d{1,9})|Process (?P<other>\d{1,9}): |Python v\d\.\d{1,2}\.\d{1,3}\S* \(")
_PROCESS = re.compile(r"Process (?P<pid>\d{1,9}): ")
_PYTHON = re.compile(r"Python v\d\.\d{1,2}\.\d")
_THREAD = re.compile(
    r"Thread (?P<id>\d{1,20}|0x[0-9a-fA-F]{1,16}) \((?P<state>[a-z+]{1,30})\)"
    r"(?:: \"(?P<name>.{0,200})\"| \((?P<tid>[^)]{1,80})\))?"
)
_FRAME = re.compile(r"\s{4,12}(?P<function>\S.{0,400}?) \((?P<file>[^()]{1,500}?)(?::(?P<line>\d{1,9}))?\)$")
_VARIABLES = re.compile(r"\s{6,}\S")
_THREAD_LIMIT = 256
_FRAME_LIMIT = 200


class _Dump:
    def __init__(self, pid: str | None) -> None:
        self._pid = int(pid) if pid else None
        self._threads: list[tuple[str, str | None, bool, list[Frame]]] = []
        self._blanks = 0

    def take(self, text: str, dated: bool, /) -> bool:
        if dated:
            return False
        if not text.strip():
            self._blanks += 1
            return self._blanks <= 4
        self._blanks = 0
        process = _PROCESS.match(text)
        if process:
            pid = int(process["pid"])
            mine = self._pid in (None, pid) and not self._threads
            self._pid = pid if mine else self._pid
            return mine
        thread = _THREAD.match(text)
        if thread:
            return self._start(thread)
        frame = _FRAME.match(text) if self._threads else None
        if frame:
            return self._add(frame)
        return bool(_PYTHON.match(text) or (self._threads and _VARIABLES.match(text)))

    def finish(self) -> Result | None:
        if not self._threads:
            return None
        threads = tuple(Thread(*one[:3], tuple(reversed(one[3]))) for one in self._threads)
        return Result(threads=threads, subjects=(self._pid,) if self._pid else ())

    def _start(self, found: re.Match[str]) -> bool:
        if len(self._threads) < _THREAD_LIMIT:
            self._threads.append((found["id"], found["name"], "active" in found["state"], []))
        return True

    def _add(self, found: re.Match[str]) -> bool:
        frames = self._threads[-1][3]
        if len(frames) < _FRAME_LIMIT:
            number = int(found["line"]) if found["line"] else None
            frames.append(Frame(found["file"], number, found["function"], None, number is not None and is_in_app(found["file"])))
        return True


class PySpyDumps(Collector):
    """Threads of a process, by py-spy; `subjects` is that process."""

    literals: ClassVar[tuple[str, ...]] = ("Pyspy dump for PID", "Python v3.", "Python v2.")
    origin: ClassVar[Origin] = Origin.THREADS
    shown: ClassVar[int] = 1

    def begin(self, text: str, _dated: bool, /) -> tuple[Draft, int] | None:
        """SGLang's record, or py-spy's own second line: the first has nothing that is rare enough to look for."""
        found = _BEGIN.search(text)
        return (_Dump(found["pid"] or found["other"]), found.start()) if found else None
