"""Samples of collectors with different periods made to agree: what only a server that runs can say ends with its unit.

The unit is read every few seconds, releases and health less often; a server that was killed would serve, healthy, for half a
minute more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ddtree_ops.exporter.catalogue import releases, server, unit
from ddtree_ops.exporter.metric import Sample

_SERVING = "serving"


def agreed(samples: Mapping[str, tuple[Sample, ...]]) -> Mapping[str, tuple[Sample, ...]]:
    """The samples by collector; of a port whose unit is not active no release serves, and no health is good."""
    down = {one.labels[0] for one in samples.get("unit", ()) if one.metric is unit.READY and not one.value}
    if not down:
        return samples
    return {name: tuple(_without(down, one) for one in own if not _serves(down, one)) for name, own in samples.items()}


def _serves(down: set[str], one: Sample) -> bool:
    return one.metric is releases.INFO and one.labels[0] in down and one.labels[1] == _SERVING


def _without(down: set[str], one: Sample) -> Sample:
    return replace(one, value=0.0) if one.metric is server.HEALTH and one.labels[0] in down else one
