"""One server: what it does, how its load goes, what requests see, and the GPUs below it."""

from __future__ import annotations

from grafana_foundation_sdk.builders import timeseries
from grafana_foundation_sdk.builders.prometheus import Dataquery

from dashboards.grafana.source import queries as q
from dashboards.grafana.source import style
from dashboards.grafana.source.board import Board, Section, Strip, even
from dashboards.grafana.source.panels import gauges, lines, number
from dashboards.grafana.source.server_host import GPUS, HOUSEKEEPING
from dashboards.grafana.source.shared import (
    AGE_LIMITS,
    POOL_LIMITS,
    STATE,
    STATES,
    TOKENS,
    acceptance,
    state_bands,
)

EXIT_CODES = {
    0: ("0 stopped", style.GOOD),
    70: ("70 crash", style.BAD),
    75: ("75 stall", style.BAD),
    78: ("78 config", style.BAD),
}
TTFT = "sglang_time_to_first_token_seconds"
ROOT = 'role="root"'
PROGRESS = f"time() - {q.of_hosts('ddtree_ops_load_last_progress_timestamp_seconds')}"


def _now() -> Strip:
    hosts = q.of_hosts
    stall = style.thresholds((None, style.CALM), (300, style.BAD))
    missing = f"sum({hosts('ddtree_ops_gpus_expected')}) - sum({hosts('ddtree_ops_gpus_seen')})"
    failed = f"time() - max({hosts('ddtree_ops_failure_last_timestamp_seconds', ROOT)})"
    code = style.now(f"max({hosts('ddtree_ops_unit_last_exit_code')})")
    drift = style.now(f"sum({hosts('ddtree_ops_release_drift_items')})")
    loaded = style.now(f"max({hosts('ddtree_ops_load_progress_ratio')})")
    age = style.now(f"time() - max({hosts('ddtree_ops_unit_started_timestamp_seconds')})")
    usual = "Of the whole load, by the seconds that earlier boots took."
    moved = "Since phase, percent or log last moved during this load."
    ended = "Exit status of the last main process that ended."
    newest = "Since the newest root failure that triage found."
    idle = "not loading"
    panels = (
        number("State", "What the server does now.", style.now(f"max({STATE})"), named=STATES),
        number("Loaded", usual, loaded, unit="percentunit", empty=idle),
        number("Stuck for", moved, style.now(f"max({PROGRESS})"), unit="s", limits=stall, empty=idle),
        number("Process age", "Since it was started.", age, unit="s", empty="not running"),
        number("Last exit", ended, code, named=EXIT_CODES, limits=style.BAD_FROM_ONE),
        number("Since failure", newest, style.now(failed), unit="s", limits=AGE_LIMITS, empty="no failure"),
        number("GPUs missing", "Needed by the release, not shown.", style.now(missing), limits=style.BAD_FROM_ONE),
        number("Drift", "What differs from the release.", drift, limits=style.WARN_FROM_ONE),
    )
    return even(4, *panels)


def _load() -> Strip:
    over = (
        style.query(f"max({q.of_hosts('ddtree_ops_load_elapsed_seconds')})", "this load", "A"),
        style.query(f"max({q.of_hosts('ddtree_ops_load_usual_seconds')})", "usual load", "B"),
        style.query(f"max({PROGRESS})", "without progress", "C"),
    )
    segments = style.now(f"max by (segment) ({q.of_hosts('ddtree_ops_boot_segment_seconds')})", "{{segment}}")
    return Strip(
        7,
        (
            (state_bands(), 10),
            (
                lines(
                    "Load, against the usual",
                    "While it loads. A load far above the usual, or without progress, hangs.",
                    *over,
                    unit="s",
                ),
                7,
            ),
            (gauges("Last boot", "Seconds that each phase of the last finished boot took.", segments, unit="s"), 7),
        ),
    )


def _requests() -> tuple[Strip, ...]:
    return (Strip(8, _waits()), Strip(8, _work()))


def _waits() -> tuple[tuple[timeseries.Panel, int], ...]:
    load = (
        style.query(f"sum({q.of_hosts('ddtree_ops_server_requests_running')})", "running", "A"),
        style.query(f"sum({q.of_hosts('ddtree_ops_server_requests_queued')})", "waiting", "B"),
    )
    parts = (
        style.query(q.quantile(0.95, "sglang_e2e_request_latency_seconds", ""), "whole request", "A"),
        style.query(q.quantile(0.95, "sglang_queue_time_seconds", ""), "in the queue", "B"),
    )
    slow = style.thresholds((None, style.GOOD), (2, style.WARN), (10, style.BAD))
    return (
        (lines("Requests", "Decoded at once, and waiting.", *load, unit="none"), 8),
        (lines("Time to first token", "Queueing included.", *_quantiles(TTFT), unit="s", limits=slow), 8),
        (lines("Latency, p95", "The whole request, and its time in the queue.", *parts, unit="s"), 8),
    )


def _work() -> tuple[tuple[timeseries.Panel, int], ...]:
    tokens = (
        style.query(f"sum({q.rate('ddtree_ops_server_generated_tokens_total')})", "generated", "A"),
        style.query(f"sum({q.rate('sglang_prompt_tokens_total')})", "prompt", "B"),
    )
    between = "Per token, of answers that come in parts; one step of speculation brings several."
    answers = style.query(
        q.total("status_code", q.rate("sglang_http_responses_total", 'endpoint!~"/health.*|/metrics"')), "{{status_code}}"
    )
    pool = style.query(f"max by (port) ({q.of_hosts('ddtree_ops_server_kv_pool_used_ratio')})", "port {{port}}")
    full = "At 100 % requests are retracted."
    return (
        (lines("Tokens", "Generated and taken in.", *tokens, unit=TOKENS), 6),
        (lines("Time between tokens", between, *_quantiles("sglang_inter_token_latency_seconds"), unit="s"), 6),
        (lines("Answers", "By HTTP status, health checks left out.", answers, unit="reqps", stacked=True), 6),
        (lines("KV pool in use", full, pool, unit="percentunit", limits=POOL_LIMITS, top=1), 6),
    )


def _quantiles(metric: str) -> list[Dataquery]:
    return [
        style.query(q.quantile(part, metric, ""), f"p{part * 100:.0f}", ref)
        for part, ref in zip((0.5, 0.95, 0.99), "ABC", strict=True)
    ]


def _speculation() -> Strip:
    plain = q.ratio(f"sum({q.rate('sglang_generation_tokens_total')})", f"sum({q.rate('sglang_spec_verify_calls_total')})")
    length = (style.query(acceptance(""), "DDTree", "A"), style.query(plain, "tokens per verify call", "B"))
    steps = q.total("", q.rate("ddtree_ops_speculation_verify_steps_total"))
    cost = style.query(q.shared(q.total("part", q.rate("ddtree_ops_speculation_step_seconds_total")), steps), "{{part}}")
    health = (
        style.query(f"min by (port) ({q.of_hosts('ddtree_ops_server_health_duration_seconds')})", "/health, port {{port}}"),
    )
    return Strip(
        8,
        (
            (
                lines(
                    "Acceptance length",
                    "By DDTree's histogram, and by SGLang's own counters (any algorithm). No line while nothing is decoded.",
                    *length,
                    unit="none",
                ),
                8,
            ),
            (lines("A verify step", "GPU time of its parts.", cost, unit="s", stacked=True), 8),
            (lines("Health check", "How long /health takes; slow under load is normal.", *health, unit="s"), 8),
        ),
    )


SERVER = Board(
    uid="ddtree-server",
    title="DDTree server",
    description="One host: state, load, requests, speculation, GPUs.",
    sections=(
        Section("", (_now(), _load())),
        Section("Requests", _requests()),
        Section("Speculation and health", (_speculation(),)),
        Section("GPUs", GPUS),
        Section("Release, exporter", HOUSEKEEPING),
    ),
    one_host=True,
)
