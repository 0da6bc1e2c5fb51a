"""Figures found to be wrong after they were recorded: results stay as written, the report leaves these out and says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.gpu.results import Result

_STALE_GAUGE = (
    "`sglang:num_used_tokens` (1,606 and 1,608) is left out: an idle server doesn't renew that gauge, so it told of the last "
    "batch. What SGLang's own check on idling compares is the pool itself."
)
# (stage, date of the result) -> name of a finding -> why it doesn't count
WITHDRAWN: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("load", "2026-11-30T02:09:04+00:00"): {"tokens_left_in_use": _STALE_GAUGE},
    ("retraction", "2026-11-30T02:19:26+00:00"): {"tokens_left_in_use": _STALE_GAUGE},
}


def without_withdrawn(result: Result) -> tuple[dict[str, Any], list[str]]:
    """The findings without what was withdrawn, and the reasons."""
    gone = WITHDRAWN.get((result.stage, result.date), {})
    kept = {name: value for name, value in result.findings.items() if name not in gone}
    return kept, list(gone.values())
