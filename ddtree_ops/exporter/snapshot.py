"""What the sampler knows at one moment: frozen, so that scrape, page and stream may read it from any thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ddtree_ops.exporter.metric import Sample


@dataclass(frozen=True, slots=True)
class CollectorState:
    """How the last reading of a collector went. `duration` in seconds, `last_success` as Unix time, None if there was none.

    `error` is what it raised, in one line, for logs and people; `dropped` are the series that were left out as unfit.
    """

    success: bool
    duration: float
    last_success: float | None
    error: str | None = None
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Samples and states by collector. `taken` is Unix time; a collector that has not read anything yet is in none of them."""

    samples: Mapping[str, tuple[Sample, ...]]
    states: Mapping[str, CollectorState]
    taken: float
