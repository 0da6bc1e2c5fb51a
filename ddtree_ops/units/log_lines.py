"""Cutting one journal message of SGLang into the lines that a person would see.

A message isn't always a line: tqdm writes its bars with carriage returns and no newline, so a whole series of bars
arrives as one message, and a log record may follow in the same message, right behind the last bar.

A log record's own text is never cut. It can hold anything, a user's prompt too, and whatever looks like a record inside
of it must not be taken for one.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# `[2026-11-29 18:38:25 TP1]`, with data or pipeline parallelism `[... DP0 PP0 TP0]`; one rank alone has no prefix.
_HEADER = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?P<ranks>(?: [A-Z]{1,8}\d{1,6}){0,6})\] ")
_HEADER_AFTER_BAR = re.compile(r"(?<=\])(?=" + _HEADER.pattern.replace("?P<ranks>", "?:") + ")")
# tqdm: `name:  25%|##   | 1/4 [00:45<...`; SGLang's own: `name:   0% Completed | 0/1 [...`
_PERCENT = re.compile(r"(?<!\d)(?P<percent>\d{1,3})%(?: Completed)? ?\|")
_DETAIL = re.compile(r"\([^()]*\)")
_LONGEST_BAR_NAME = 200


@dataclass(frozen=True, slots=True)
class Bar:
    """One state of a progress bar: what it counts (without changing details in parentheses), and 0 to 1."""

    name: str
    fraction: float


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: its text without header, the numbers of its rank prefix (empty without one), the bar that it is."""

    text: str
    ranks: tuple[int, ...] = ()
    bar: Bar | None = None

    @property
    def leading(self) -> bool:
        """True for rank 0 and for lines without a rank: the ones that tell of the server as a whole."""
        return not any(self.ranks)


def split_message(message: str) -> Iterator[LogLine]:
    """Yield the lines of one journal message, in the order in which they were written."""
    if _HEADER.match(message):
        yield _record(message)
        return
    for piece in message.split("\r"):
        cut = _HEADER_AFTER_BAR.search(piece) if "|" in piece else None
        if cut:
            yield LogLine(piece[: cut.start()], bar=_bar(piece[: cut.start()]))
            yield _record(piece[cut.start() :])
        elif _HEADER.match(piece):
            yield _record(piece)
        elif piece:
            yield LogLine(piece, bar=_bar(piece))


def _record(text: str) -> LogLine:
    header = _HEADER.match(text)
    if header is None:
        return LogLine(text)
    ranks = tuple(int(re.sub(r"\D", "", name)) for name in header["ranks"].split())
    return LogLine(text[header.end() :], ranks)


def _bar(text: str) -> Bar | None:
    found = _PERCENT.search(text)
    if found is None or found.start() > _LONGEST_BAR_NAME:
        return None
    name = " ".join(_DETAIL.sub("", text[: found.start()]).split()).rstrip(": ")
    return Bar(name, min(int(found["percent"]), 100) / 100)
