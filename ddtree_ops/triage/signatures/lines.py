"""Failures that are told in one line, without a traceback."""

from __future__ import annotations

from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.signatures import garbage_output, port_in_use, unknown_argument

_MATCHERS = (unknown_argument.match_line, port_in_use.match_line)
# One of these stands in every line that a matcher knows: 100,000 others are passed over quickly.
_SIGNS = (": error: ", "[Errno 98]")
_WORDS_MATCHERS = (port_in_use.match_words, garbage_output.match_words)


def match_line(text: str) -> Finding | None:
    """The finding for a line, or None."""
    if not any(sign in text for sign in _SIGNS):
        return None
    return next((finding for matcher in _MATCHERS if (finding := matcher(text))), None)


def match_words(reason: str) -> Finding | None:
    """The finding for the reason in the launcher's last words, or None."""
    return next((finding for matcher in _WORDS_MATCHERS if (finding := matcher(reason))), None)
