"""Speculation: whether drafting pays, by host, release and budget. Averages are rates of counters, never SGLang's gauges."""

from __future__ import annotations

from dashboards.grafana.source import queries as q
from dashboards.grafana.source import style
from dashboards.grafana.source.board import Board, Section, Strip, even
from dashboards.grafana.source.panels import density, gauges, lines, number
from dashboards.grafana.source.shared import LENGTH, TOKENS, acceptance
from dashboards.grafana.source.tables import Column, rows

SPEC = "ddtree_ops_speculation_"
SERVER = "{{host}} {{release}}"
FALLBACK_LIMITS = style.thresholds((None, style.GOOD), (0.05, style.WARN), (0.2, style.BAD))


def _rate(name: str, by: str = "", more: str = "") -> str:
    return q.total(by, q.rate(SPEC + name, more))


def _released(name: str, by: str = "host, release", more: str = "") -> str:
    return q.total(by, q.by_release(q.rate(SPEC + name, more)))


def _budgeted(name: str) -> str:
    """Rates by budget: count_values makes a label of the gauge's value."""
    budgets = f'count_values by (host, port) ("budget", {q.of_hosts(SPEC + "budget_nodes")})'
    return q.total("budget", f"{q.rate(SPEC + name)} * on (host, port) group_left (budget) {budgets}")


def _now() -> Strip:
    accepted = q.ratio(_rate("accepted_tokens_total"), _rate("proposed_tokens_total"))
    step = q.ratio(_rate("step_seconds_total"), _rate("verify_steps_total"))
    draft = q.ratio(_rate("step_seconds_total", more='part=~"draft|build"'), _rate("step_seconds_total"))
    fallbacks = q.ratio(_rate("graph_fallbacks_total"), _rate("verify_steps_total"))
    idle = "idle"
    many = "Part of the verified draft tokens that was accepted. A big tree proposes many to lose."
    lost = "Part of the verify steps that no captured CUDA graph fitted."
    drafting = "Of a step's GPU time: drafting, and building the tree."
    mean = "Tokens per request and verify step, bonus token included."
    graph = style.now(fallbacks)
    return even(
        4,
        number("Acceptance length", mean, style.now(acceptance("")), decimals=2, empty=idle),
        number("Accepted of proposed", many, style.now(accepted), unit="percentunit", decimals=1, empty=idle),
        number("Committed tokens/s", "By verify steps.", style.now(_rate("committed_tokens_total")), unit="short", empty=idle),
        number("A step", "GPU time of a whole verify step.", style.now(step), unit="s", decimals=1, empty=idle),
        number("Draft's share", drafting, style.now(draft), unit="percentunit", empty=idle),
        number("Without a graph", lost, graph, unit="percentunit", decimals=1, limits=FALLBACK_LIMITS, empty=idle),
    )


def _budget() -> Strip:
    by_budget = q.ratio(_budgeted(LENGTH.removeprefix(SPEC) + "_sum"), _budgeted(LENGTH.removeprefix(SPEC) + "_count"))
    worth = q.ratio(_budgeted("committed_tokens_total"), _budgeted("step_seconds_total"))
    budget = "budget {{budget}}"
    servers = (
        q.ratio(_released("acceptance_length_tokens_sum"), _released("acceptance_length_tokens_count")),
        q.ratio(_released("accepted_tokens_total"), _released("proposed_tokens_total")),
        _released("committed_tokens_total"),
        q.ratio(_released("step_seconds_total"), _released("verify_steps_total")),
        f"max by (host, release) ({q.by_release(q.of_hosts(SPEC + 'budget_nodes'))})",
        f"max by (host, release) ({q.by_release(q.of_hosts(SPEC + 'block_tokens'))})",
    )
    columns = (
        Column("host", "Host", width=90),
        Column("release", "Release"),
        Column("E", "Budget", "none", 0, 75),
        Column("F", "Block", "none", 0, 65),
        Column("A", "Length", "none", 2, 75),
        Column("B", "Accepted", "percentunit", 1, 85),
        Column("C", "Tokens/s", "none", 0, 85),
        Column("D", "Step", "s", 1, 85),
    )
    table = rows(
        "Servers", "Now, of those that decode.", [style.cells(expr, chr(65 + i)) for i, expr in enumerate(servers)], columns
    )
    return Strip(
        8,
        (
            (
                lines(
                    "Acceptance length by budget",
                    "Tree nodes per request that the release is configured for.",
                    style.query(by_budget, budget),
                    unit="none",
                ),
                6,
            ),
            (
                lines(
                    "Tokens per GPU second of a step",
                    "What a budget is worth: more nodes accept more and cost more.",
                    style.query(worth, budget),
                    unit=TOKENS,
                ),
                6,
            ),
            (table, 12),
        ),
    )


def _cost() -> Strip:
    steps = _rate("verify_steps_total")
    parts = q.shared(_rate("step_seconds_total", "part"), steps)
    draft = _released("step_seconds_total", more='part=~"draft|build"')
    share = q.ratio(draft, _released("step_seconds_total", more='part="verify"'))
    tokens = _released("committed_tokens_total")
    return Strip(
        8,
        (
            (lines("A step's parts", "GPU time per verify step.", style.query(parts, "{{part}}"), unit="s", stacked=True), 8),
            (
                lines(
                    "Draft against verify",
                    "GPU time of drafting and building the tree for each second of verifying.",
                    style.query(share, SERVER),
                    unit="percentunit",
                ),
                8,
            ),
            (lines("Committed tokens", "By server and release.", style.query(tokens, SERVER), unit=TOKENS), 8),
        ),
    )


def _acceptance() -> Strip:
    length = q.ratio(_released("acceptance_length_tokens_sum"), _released("acceptance_length_tokens_count"))
    counts = _rate("acceptance_length_tokens_count")
    longer = [
        # Python's client writes bounds of whole numbers as 4.0.
        style.query(f"1 - {_rate('acceptance_length_tokens_bucket', more=f'le=~{bound}')} / ({counts} > 0)", words, ref)
        for bound, words, ref in (
            (r'"1(\\.0)?"', "2 or more", "A"),
            (r'"3(\\.0)?"', "4 or more", "B"),
            (r'"7(\\.0)?"', "8 or more", "C"),
            (r'"11(\\.0)?"', "12 or more", "D"),
        )
    ]
    buckets = style.query(_rate("acceptance_length_tokens_bucket", "le", 'le!="+Inf"'), "{{le}}").format(style.HEATMAP)
    return Strip(
        9,
        (
            (lines("Acceptance length", "By server and release.", style.query(length, SERVER), unit="none"), 8),
            (
                lines(
                    "Steps that commit",
                    "Part of the requests' steps with at least so many tokens.",
                    *longer,
                    unit="percentunit",
                    top=1,
                ),
                8,
            ),
            (
                density("How many tokens steps commit", "Requests' steps per second by acceptance length.", buckets, unit="none"),
                8,
            ),
        ),
    )


def _fallbacks() -> Strip:
    part = q.ratio(_released("graph_fallbacks_total"), _released("verify_steps_total"))
    passes = style.query(q.total("mode", q.rate("sglang_cuda_graph_passes_total")), "{{mode}}")
    lost = style.now(f"sum by (host) (increase({q.of_hosts(SPEC + 'graph_fallbacks_total')}[$__range]))", "{{host}}")
    return Strip(
        8,
        (
            (
                lines(
                    "Steps without a CUDA graph",
                    "Part of the verify steps. Many mean that the captured sizes don't fit the batches.",
                    style.query(part, SERVER),
                    unit="percentunit",
                    limits=FALLBACK_LIMITS,
                ),
                10,
            ),
            (lines("Forward passes", "By SGLang's count, with and without a graph.", passes, unit="ops", stacked=True), 8),
            (gauges("Fallbacks in the time range", "Verify steps.", lost, unit="short"), 6),
        ),
    )


SPECULATION = Board(
    uid="ddtree-speculation",
    title="DDTree speculation",
    description="Acceptance, its cost, and what it is worth, by host, release and budget.",
    sections=(
        Section("", (_now(),)),
        Section("By budget", (_budget(),)),
        Section("Cost", (_cost(),)),
        Section("Acceptance", (_acceptance(),)),
        Section("CUDA graphs", (_fallbacks(),)),
    ),
)
