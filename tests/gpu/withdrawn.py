"""Figures found to be wrong after they were recorded: results stay as written, the report leaves these out and says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.gpu.results import Result

_PLAIN_8B = (
    "Plain decoding at this size is left out: its port was that of a server of the stage before, which answered in its place "
    "(found afterwards; no port is used twice any more)."
)
_STALE_GAUGE = (
    "`sglang:num_used_tokens` (1,606 and 1,608) is left out: an idle server doesn't renew that gauge, so it told of the last "
    "batch. What SGLang's own check on idling compares is the pool itself."
)
# (stage, date of the result) -> name of a finding, or of a server among the speeds -> why it doesn't count
WITHDRAWN: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("throughput_8b", "2026-11-30T02:20:17+00:00"): {"plain-8b": _PLAIN_8B},
    ("load", "2026-11-30T02:09:04+00:00"): {"tokens_left_in_use": _STALE_GAUGE},
    ("retraction", "2026-11-30T02:19:26+00:00"): {"tokens_left_in_use": _STALE_GAUGE},
}


def without_withdrawn(result: Result) -> tuple[dict[str, Any], list[str]]:
    """The findings without what was withdrawn, and the reasons."""
    gone = WITHDRAWN.get((result.stage, result.date), {})
    return _without(result.findings, gone), list(gone.values())


def _without(found: Mapping[str, Any], gone: Mapping[str, str]) -> dict[str, Any]:
    kept = {name: value for name, value in found.items() if name not in gone}
    if "speed" in kept:
        kept["speed"] = {name: _without(servers, gone) for name, servers in kept["speed"].items()}
    return kept
