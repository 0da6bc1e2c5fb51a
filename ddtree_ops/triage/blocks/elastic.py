"""torchelastic's table of ranks that failed, which `torchrun` prints at its end.

`Failures:` lists the later ones, `Root Cause (first observed failure):` the first (torch 2.0 to 2.14,
distributed/elastic/multiprocessing/errors/__init__.py). It stands in the message of a ChildFailedError, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.collector import Collector, Draft, Result

FIRST_OBSERVED = "Root Cause (first observed failure):"

_RANK = re.compile(r"rank\s{0,8}: (?P<rank>\d{1,6}) \(local_rank: \d{1,6}\)")
_EXIT = re.compile(r"exitcode\s{0,8}: (?P<code>-?\d{1,5}) \(pid: (?P<pid>\d{1,9})\)")
_END = re.compile(r"={10,}$")
_LINE = re.compile(r"failed \(exitcode: (?P<code>-?\d{1,5})\) local_rank: (?P<rank>\d{1,6}) \(pid: (?P<pid>\d{1,9})\) of binary")
_LINES_LIMIT = 400


@dataclass(frozen=True, slots=True)
class FailedRank:
    """One entry. `code`: the exit code, minus a signal's number if one ended it. `first`: the first observed one."""

    rank: int
    code: int
    pid: int
    first: bool


def read_table(text: str) -> tuple[FailedRank, ...]:
    """The ranks of a table, as printed."""
    found: list[FailedRank] = []
    rank: int | None = None
    first = False
    for line in text.splitlines():
        stripped = line.strip()
        first = first or stripped.endswith(FIRST_OBSERVED)
        named, ended = _RANK.match(stripped), _EXIT.match(stripped)
        if named:
            rank = int(named["rank"])
        elif ended and rank is not None:
            found.append(FailedRank(rank, int(ended["code"]), int(ended["pid"]), first))
            rank = None
    return tuple(found)


def read_line(text: str) -> FailedRank | None:
    """The rank that the agent's log line names as failed; it names the first one only."""
    found = _LINE.search(text)
    return FailedRank(int(found["rank"]), int(found["code"]), int(found["pid"]), True) if found else None


class _Table:
    def __init__(self) -> None:
        self._lines = [FIRST_OBSERVED]
        self._over = False

    def take(self, text: str, dated: bool, /) -> bool:
        if self._over or dated or len(self._lines) > _LINES_LIMIT:
            return False
        self._over = bool(_END.match(text.strip()))
        self._lines.append(text)
        return True

    def finish(self) -> Result | None:
        ranks = read_table("\n".join(self._lines))
        return Result(subjects=tuple(item.pid for item in ranks), lines=tuple(self._lines)) if ranks else None


class _OneLine:
    def __init__(self, rank: FailedRank) -> None:
        self._rank = rank

    def take(self, _text: str, _dated: bool, /) -> bool:
        return False

    def finish(self) -> Result:
        return Result(subjects=(self._rank.pid,))


class ElasticTables(Collector):
    """The part of the table that names the first failure, or the agent's log line that does."""

    literals: ClassVar[tuple[str, ...]] = (FIRST_OBSERVED, "failed (exitcode: ")
    origin: ClassVar[Origin] = Origin.ELASTIC

    def begin(self, text: str, _dated: bool, /) -> tuple[Draft, int] | None:
        """The heading, or the line."""
        if FIRST_OBSERVED in text:
            return _Table(), text.index(FIRST_OBSERVED)
        rank = read_line(text)
        return (_OneLine(rank), 0) if rank else None
