"""DDTREE's counters (sglang_ddtree_*) and settings: averages come from rate(), since gauges fall back to 0 when idle."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_SERVER = Subject("server", ("port",), most=4)
_RELEASES = Subject("releases", ("port",), most=4)

STEPS = _SERVER.counter("speculation_verify_steps_total", "Verify passes of the target.")
ACCEPTED = _SERVER.counter(
    "speculation_accepted_tokens_total", "Draft tokens that the target accepted, bonus tokens not included."
)
PROPOSED = _SERVER.counter("speculation_proposed_tokens_total", "Draft tokens that were verified.")
NODES = _SERVER.counter("speculation_tree_nodes_total", "Nodes of all draft trees, roots included.")
COMMITTED = _SERVER.counter(
    "speculation_committed_tokens_total", "Tokens appended to texts by verify steps, bonus tokens included."
)
FALLBACKS = _SERVER.counter("speculation_graph_fallbacks_total", "Verify steps that ran without a captured CUDA graph.")
STEP_SECONDS = _SERVER.counter(
    "speculation_step_seconds_total", "GPU seconds of steps by part (draft, build, verify, commit).", "part", most=16
)
LENGTH = _SERVER.histogram(
    "speculation_acceptance_length_tokens", "Tokens committed per request and verify step, bonus token included.", most=80
)
BUDGET = _RELEASES.gauge(
    "speculation_budget_nodes",
    "Tree nodes per request that the serving release is configured for (its budget); the verify pass has one more.",
)
BLOCK = _RELEASES.gauge("speculation_block_tokens", "Draft block size of the serving release in tokens.")
