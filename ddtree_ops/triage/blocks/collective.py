"""What NCCL, Gloo and PyTorch's watchdogs say of collectives that failed or never ended.

ProcessGroupNCCL logs a timeout several times before it ends the process with an exception that quotes it (torch 2.0 to
2.14, ProcessGroupNCCL.cpp): the lines of one process are one block, and where the terminate block follows, one failure
with it (fold.py). NCCL's own `NCCL WARN` lines tell causes that the exception leaves out.
"""

from __future__ import annotations

import re
from typing import ClassVar

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.collector import Collector, Draft, Result
from ddtree_ops.triage.blocks.cpp_frames import RAISED_LITERAL, parse_cpp_frame

_LITERALS = (
    "Watchdog caught collective",
    "watchdog thread terminated with",
    "NCCL WARN ",
    "monitoredBarrier",
    "Heartbeat monitor timed out",
    "watchdog got stuck for",
    "detected by watchdog at work",
)
# A C++ log line of PyTorch (`[E1129 23:11:18.19 ProcessGroupGloo.cpp:68] `) or of NCCL (`host:pid:tid [0] file.cc:1 NCCL WARN`)
_LOGGED = re.compile(r"\[[EWF]\S{0,30} .{0,80}?\w{1,60}\.cpp:\d{1,6}\] |\bNCCL WARN ")
_LENGTH = 1000  # a progress bar may stand before the logger's words
_RELATED = ("NCCL", "ProcessGroup", "FlightRecorder", "collective", "data inconsistency")
_RANK = re.compile(r"\[(?:[^\][]{0,80} )?Rank (?P<rank>\d{1,6})\]|(?:\] |^)Rank (?P<other>\d{1,6}) successfully reached")


class _Lines:
    def __init__(self, text: str) -> None:
        rank = _RANK.search(text[:600])
        self._rank = f"rank{rank['rank'] or rank['other']}" if rank else None

    def take(self, text: str, dated: bool, /) -> bool:
        if dated:
            return False
        if not text.strip() or RAISED_LITERAL in text or parse_cpp_frame(text):
            return True
        return bool(_LOGGED.search(text[:_LENGTH])) and any(word in text for word in _RELATED)

    def finish(self) -> Result:
        return Result(rank=self._rank)


class Collectives(Collector):
    """Log lines of collectives' watchdogs; exceptions that quote them are other recognisers' blocks."""

    literals: ClassVar[tuple[str, ...]] = _LITERALS
    origin: ClassVar[Origin] = Origin.COLLECTIVE

    def begin(self, text: str, dated: bool, /) -> tuple[Draft, int] | None:
        """Only a logger's line begins one: neither an exception's message nor a record that quotes it."""
        return (_Lines(text), 0) if not dated and _LOGGED.search(text[:_LENGTH]) else None
