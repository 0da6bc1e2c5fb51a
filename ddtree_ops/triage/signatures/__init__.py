"""Known failures, one file each. To add one: a file with its `SIGNATURE`, a line in `SIGNATURES`, a case folder.

The order is the order of asking: the more special first. What none of them knows stays `unknown`.
"""

from __future__ import annotations

from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.signatures import (
    draft_model_mismatch,
    garbage_output,
    graph_token_count_mismatch,
    kv_pool_too_small,
    oom,
    peer_rank_failed,
    port_in_use,
    request_error,
    tensor_shape_bug,
    unknown_argument,
    weights_missing,
)
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through

__all__ = ["LITERALS", "SIGNATURES", "Context", "Signature", "match", "match_line", "match_words", "passes_through"]

SIGNATURES: tuple[Signature, ...] = (
    request_error.SIGNATURE,
    peer_rank_failed.SIGNATURE,
    graph_token_count_mismatch.SIGNATURE,
    draft_model_mismatch.SIGNATURE,
    kv_pool_too_small.SIGNATURE,
    oom.SIGNATURE,
    unknown_argument.SIGNATURE,
    port_in_use.SIGNATURE,
    weights_missing.SIGNATURE,
    garbage_output.SIGNATURE,
    tensor_shape_bug.SIGNATURE,
)

#: What the lines that a signature knows by themselves have in them.
LITERALS = tuple(dict.fromkeys(literal for signature in SIGNATURES for literal in signature.literals))

_OF_BLOCKS = tuple(item.match for item in SIGNATURES if item.match)
_OF_LINES = tuple((item.literals, item.match_line) for item in SIGNATURES if item.match_line)
_OF_WORDS = tuple(item.match_words for item in SIGNATURES if item.match_words)


def match(context: Context) -> Finding | None:
    """The finding of the first signature that knows this block, or None."""
    return next((finding for one in _OF_BLOCKS if (finding := one(context))), None)


def match_line(text: str) -> Finding | None:
    """The finding for a line by itself, or None."""
    for literals, one in _OF_LINES:
        if any(literal in text for literal in literals):
            finding = one(text)
            if finding:
                return finding
    return None


def match_words(reason: str) -> Finding | None:
    """The finding for the reason in the launcher's last words, or None."""
    return next((finding for one in _OF_WORDS if (finding := one(reason))), None)
