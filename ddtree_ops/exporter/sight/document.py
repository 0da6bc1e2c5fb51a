"""The fleet as one JSON document; keys are the fields of `sight.model`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ddtree_ops.exporter.sight.model import HostSight

SCHEMA = "ddtree-ops/fleet-status/v1"
_FIELDS = tuple(field.name for field in dataclasses.fields(HostSight) if field.name != "host")
_OPTIONS = 1 << 10  # orjson.OPT_APPEND_NEWLINE


def fleet_document(now: float, sights: Sequence[HostSight]) -> bytes:
    """`{"schema", "time", "hosts": [...]}`; null means not known."""
    import orjson  # noqa: PLC0415  only whoever asks for JSON pays for it

    return orjson.dumps({"schema": SCHEMA, "time": now, "hosts": [host_data(sight) for sight in sights]}, option=_OPTIONS)


def host_data(sight: HostSight) -> dict[str, Any]:
    """Fields by name, with the state of the worst server on top; orjson turns the dataclasses within into objects."""
    return {"host": sight.host, "state": sight.state, **{name: getattr(sight, name) for name in _FIELDS}}
