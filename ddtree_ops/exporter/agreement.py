"""Samples of collectors with different periods made to agree: what only a server that runs can say ends with its run.

The unit is read every few seconds, releases and health less often; a server that was killed would serve, healthy, for half a
minute more, and one that was restarted would be as healthy as the one before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ddtree_ops.exporter.catalogue import releases, server, unit
from ddtree_ops.exporter.metric import Sample

_SERVING = "serving"
_SAID_BY_A_SERVER = ("health", "server")


@dataclass
class Runs:
    """Of each port when its unit's run began, and when a new one was first seen, in monotonic seconds."""

    _began: dict[str, float] = field(default_factory=dict)
    _new_at: dict[str, float] = field(default_factory=dict)

    def saw(self, samples: Sequence[Sample], at: float) -> None:
        """What a reading of the units gave, which ended at `at`."""
        for one in samples:
            if one.metric is unit.STARTED:
                if self._began.get(one.labels[0], one.value) != one.value:
                    self._new_at[one.labels[0]] = at
                self._began[one.labels[0]] = one.value

    def since(self, read_at: float) -> set[str]:
        """Ports with a run that is newer than a reading that ended then."""
        return {port for port, at in self._new_at.items() if read_at < at}


def agreed(
    samples: Mapping[str, tuple[Sample, ...]], runs: Runs, read_at: Mapping[str, float]
) -> Mapping[str, tuple[Sample, ...]]:
    """The samples by collector; of a port whose unit is not active no release serves, and no health is good.

    What the run before said is left out. `read_at`: when each collector's reading ended, in monotonic seconds.
    """
    down = {one.labels[0] for one in samples.get("unit", ()) if one.metric is unit.READY and not one.value}
    found = {
        name: own if name not in _SAID_BY_A_SERVER else _of_run(own, runs.since(read_at.get(name, 0.0)))
        for name, own in samples.items()
    }
    if not down:
        return found
    return {name: tuple(_without(down, one) for one in own if not _serves(down, one)) for name, own in found.items()}


def _of_run(samples: tuple[Sample, ...], new: set[str]) -> tuple[Sample, ...]:
    return tuple(one for one in samples if one.labels[0] not in new) if new else samples


def _serves(down: set[str], one: Sample) -> bool:
    return one.metric is releases.INFO and one.labels[0] in down and one.labels[1] == _SERVING


def _without(down: set[str], one: Sample) -> Sample:
    return replace(one, value=0.0) if one.metric is server.HEALTH and one.labels[0] in down else one
