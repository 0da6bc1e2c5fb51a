"""Failures that are told in one line, without a traceback."""

from __future__ import annotations

from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.signatures import port_in_use, unknown_argument

_MATCHERS = (unknown_argument.match_line, port_in_use.match_line)


def match_line(text: str) -> Finding | None:
    """The finding for a line, or None."""
    if ": error: " not in text and "[Errno 98]" not in text:
        return None
    return next((finding for matcher in _MATCHERS if (finding := matcher(text))), None)
