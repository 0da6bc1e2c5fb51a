"""Known failures, one file each. To add one: a file, a line in `SIGNATURES`, a case folder.

The order is the order of asking: the more special first. What none of them knows stays `unknown`.
"""

from __future__ import annotations

from ddtree_ops.triage.signatures import (
    draft_model_mismatch,
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

__all__ = ["SIGNATURES", "Context", "Signature", "passes_through"]

SIGNATURES: tuple[Signature, ...] = (
    request_error.match,
    peer_rank_failed.match,
    graph_token_count_mismatch.match,
    draft_model_mismatch.match,
    kv_pool_too_small.match,
    oom.match,
    unknown_argument.match,
    port_in_use.match,
    weights_missing.match,
    tensor_shape_bug.match,
)
