"""What the journal pass of a unit knows from one pass to the next, as JSON.

Everything that is counted stands in this one file with the place in the journal up to which it holds; so whoever is killed
before the file is replaced has done nothing, and whoever is killed after it has done all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ddtree_ops.exporter.journal.counts import Counted, Counts, Known
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Role

_ENDED_LIMIT = 512


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the journal. `inclusive`: reading begins with it, not behind it."""

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
        data = asdict(self)
        counts = data.pop("counts")
        return {
            **data,
            "ended": list(self.ended),
            "totals": [[*key, number] for key, number in self.counts.totals.items()],
            "newest": list(counts["newest"].values()),
            "counted": {name: [one.number, one.role] for name, one in self.counts.counted.items()},
            "silent_us": self.counts.silent_us,
        }


def from_data(data: Mapping[str, Any], unit: str) -> State:
    """The state as it was written. Raises ValueError, KeyError, TypeError, AttributeError for anything else."""
    if data["unit"] != unit:
        raise ValueError("it is of another unit")
    counts = Counts(
        {(Kind(kind), Role(role)): int(number) for kind, role, number in data["totals"]},
        {one["fingerprint"]: Known(**{**one, "kind": Kind(one["kind"]), "role": Role(one["role"])}) for one in data["newest"]},
        {name: Counted(int(number), Role(role)) for name, (number, role) in data["counted"].items()},
        int(data["silent_us"]),
    )
    rest: dict[str, Any] = {name: data[name] for name in ("program", "invocation", "complete")}
    rest |= {name: int(data[name]) for name in ("lines_before", "lines", "newest_us")}
    rest |= {name: place(data[name]) for name in ("start", "head")}
    return State(unit=unit, ended=dict.fromkeys(data["ended"]), counts=counts, **rest)


def place(data: Mapping[str, Any] | None) -> Place | None:
    """A place as asdict() gave it. Raises TypeError."""
    return None if data is None else Place(**data)
