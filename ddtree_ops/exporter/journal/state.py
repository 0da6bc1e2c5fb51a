"""What the journal pass of a unit knows from one pass to the next, as JSON.

Everything that is counted stands in this one file with the place in the journal up to which it holds; so whoever is killed
before the file is replaced has done nothing, and whoever is killed after it has done all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.exporter.journal.counts import Counted, Counts, Known
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Role

FORMAT = 1
_ENDED_LIMIT = 512
_WORDS = 200
_NAME = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the journal. `inclusive`: reading begins with it, not behind it. `boot_id` and times tell where it was."""

    cursor: str
    realtime_us: int
    inclusive: bool


@dataclass(slots=True)
class State:
    """`start`: where the open stretch begins (None: the journal's beginning), with `lines` read before it.

    `head`: where its run began, if the stretch begins within it. `ended`: invocations that are over, oldest first.
    `program`: the version that counted. `newest_us`: time of the newest entry read.
    `complete`: whether the journal was once read to its end; before that the numbers are still growing out of the past.
    """

    unit: str
    program: str = ""
    start: Place | None = None
    head: Place | None = None
    invocation: str | None = None
    ended: dict[str, None] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    lines_before: int = 0
    lines: int = 0
    newest_us: int = 0
    complete: bool = False

    def end_run(self) -> None:
        """The invocation is over; what still comes of it is left out."""
        if self.invocation is not None:
            self.ended.pop(self.invocation, None)
            self.ended[self.invocation] = None
        while len(self.ended) > _ENDED_LIMIT:
            del self.ended[next(iter(self.ended))]

    def to_data(self) -> dict[str, Any]:
        """As it is written."""
        return {
            "format": FORMAT,
            "program": self.program,
            "unit": self.unit,
            "start": place_data(self.start),
            "head": place_data(self.head),
            "invocation": self.invocation,
            "ended": list(self.ended),
            "totals": [[kind.value, role.value, number] for (kind, role), number in self.counts.totals.items()],
            "newest": [_known_data(item) for item in self.counts.newest.values()],
            "counted": {name: [item.number, item.role.value] for name, item in self.counts.counted.items()},
            "silent_us": self.counts.silent_us,
            "complete": self.complete,
            "lines_before": self.lines_before,
            "lines": self.lines,
            "newest_us": self.newest_us,
        }


def from_data(data: Mapping[str, Any], unit: str) -> State:
    """The state as it was written. Raises ValueError for another format, another unit, or what isn't as it should be."""
    if data.get("format") != FORMAT:
        raise ValueError(f"its format is {str(data.get('format'))[:20]!r}, not {FORMAT}")
    if data.get("unit") != unit:
        raise ValueError("it is of another unit")
    try:
        return _read(data, unit)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a field is missing or of another type: {error}") from error


def _read(data: Mapping[str, Any], unit: str) -> State:
    counts = Counts(
        {(Kind(kind), Role(role)): number(count) for kind, role, count in data["totals"]},
        {(known := _known(item)).fingerprint: known for item in data["newest"]},
        {text(name): Counted(number(count), Role(role)) for name, (count, role) in data["counted"].items()},
        number(data["silent_us"]),
    )
    return State(
        unit=unit,
        program=text(data["program"]),
        start=place(data["start"]),
        head=place(data["head"]),
        invocation=None if data["invocation"] is None else text(data["invocation"]),
        ended=dict.fromkeys(map(text, data["ended"])),
        counts=counts,
        lines_before=number(data["lines_before"]),
        lines=number(data["lines"]),
        newest_us=number(data["newest_us"]),
        complete=data["complete"] is True,
    )


def _known(data: Mapping[str, Any]) -> Known:
    return Known(
        fingerprint=_fingerprint(data["fingerprint"]),
        kind=Kind(data["kind"]),
        role=Role(data["role"]),
        last_us=number(data["last_us"]),
        count=number(data["count"]),
        cause=text(data["cause"])[:_WORDS],
        fix=text(data["fix"])[:_WORDS],
    )


def _fingerprint(value: object) -> str:
    """It names files and stands in labels."""
    name = text(value)
    if not _NAME.fullmatch(name):
        raise TypeError(f"not a fingerprint: {name[:40]!r}")
    return name


def _known_data(item: Known) -> dict[str, Any]:
    return {
        "fingerprint": item.fingerprint,
        "kind": item.kind.value,
        "role": item.role.value,
        "last_us": item.last_us,
        "count": item.count,
        "cause": item.cause,
        "fix": item.fix,
    }


def place(data: Mapping[str, Any] | None) -> Place | None:
    """A place as it was written. Raises KeyError, TypeError."""
    if data is None:
        return None
    return Place(text(data["cursor"]), number(data["realtime_us"]), data["inclusive"] is True)


def place_data(item: Place | None) -> dict[str, Any] | None:
    """As it is written."""
    return None if item is None else {"cursor": item.cursor, "realtime_us": item.realtime_us, "inclusive": item.inclusive}


def number(value: object) -> int:
    """A count as it was written. Raises TypeError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise TypeError(f"not a count: {str(value)[:40]!r}")
    return value


def text(value: object) -> str:
    """A text as it was written. Raises TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"not a text: {str(value)[:40]!r}")
    return value
