"""The seam between the sampler and what it reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from ddtree_ops.exporter.metric import Sample


class Collector(Protocol):
    """One subject. `name` is the `collector` of its metrics, `period` the seconds between two readings."""

    @property
    def name(self) -> str: ...

    @property
    def period(self) -> float: ...

    def read(self) -> Sequence[Sample]:
        """Read the host now. What it raises makes this reading a failure; the sampler keeps the former samples for a while."""
        ...


@runtime_checkable
class Dropping(Protocol):
    """A collector that leaves out something itself."""

    @property
    def dropped(self) -> int:
        """How much the last reading left out; it is told with the series that were too many."""
        ...


@runtime_checkable
class Doubtful(Protocol):
    """A collector that may have something to tell although not all was well."""

    @property
    def problem(self) -> str | None:
        """What was wrong with the last reading: its samples are told, and its success is 0. None: nothing."""
        ...


@runtime_checkable
class Closable(Protocol):
    """A collector that keeps something running between its readings."""

    def close(self) -> None:
        """End that. Called once, maybe while a reading is under way."""
        ...
