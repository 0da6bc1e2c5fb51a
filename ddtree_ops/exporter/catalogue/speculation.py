"""DDTREE's counters (sglang_ddtree_*) and settings: averages come from rate(), since gauges fall back to 0 when idle."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

STEPS = Metric(
    PREFIX + "speculation_verify_steps_total", Type.COUNTER, "Verify passes of the target.", "server", ("port",), most=4
)
ACCEPTED = Metric(
    PREFIX + "speculation_accepted_tokens_total",
    Type.COUNTER,
    "Draft tokens that the target accepted, bonus tokens not included.",
    "server",
    ("port",),
    most=4,
)
PROPOSED = Metric(
    PREFIX + "speculation_proposed_tokens_total", Type.COUNTER, "Draft tokens that were verified.", "server", ("port",), most=4
)
NODES = Metric(
    PREFIX + "speculation_tree_nodes_total",
    Type.COUNTER,
    "Nodes of all draft trees, roots included.",
    "server",
    ("port",),
    most=4,
)
COMMITTED = Metric(
    PREFIX + "speculation_committed_tokens_total",
    Type.COUNTER,
    "Tokens appended to texts by verify steps, bonus tokens included.",
    "server",
    ("port",),
    most=4,
)
FALLBACKS = Metric(
    PREFIX + "speculation_graph_fallbacks_total",
    Type.COUNTER,
    "Verify steps that ran without a captured CUDA graph.",
    "server",
    ("port",),
    most=4,
)
STEP_SECONDS = Metric(
    PREFIX + "speculation_step_seconds_total",
    Type.COUNTER,
    "GPU seconds of steps by part (draft, build, verify, commit).",
    "server",
    ("port", "part"),
    most=16,
)
LENGTH = Metric(
    PREFIX + "speculation_acceptance_length_tokens",
    Type.HISTOGRAM,
    "Tokens committed per request and verify step, bonus token included.",
    "server",
    ("port",),
    most=80,
)
BUDGET = Metric(
    PREFIX + "speculation_budget_nodes",
    Type.GAUGE,
    "Tree nodes per request that the serving release is configured for (its budget); the verify pass has one more.",
    "releases",
    ("port",),
    most=4,
)
BLOCK = Metric(
    PREFIX + "speculation_block_tokens",
    Type.GAUGE,
    "Draft block size of the serving release in tokens.",
    "releases",
    ("port",),
    most=4,
)

ALL = (
    STEPS,
    ACCEPTED,
    PROPOSED,
    NODES,
    COMMITTED,
    FALLBACKS,
    STEP_SECONDS,
    LENGTH,
    BUDGET,
    BLOCK,
)
