"""The fleet at a glance: who serves, who loads, who failed, and how well they do."""

from __future__ import annotations

from grafana_foundation_sdk.builders import table

from dashboards.grafana.source import queries as q
from dashboards.grafana.source import style
from dashboards.grafana.source.board import Board, Section, Strip, even
from dashboards.grafana.source.panels import Thresholds, lines, number
from dashboards.grafana.source.shared import (
    AGE_LIMITS,
    POOL_LIMITS,
    QUEUE_LIMITS,
    STATE,
    STATES,
    TOKENS,
    acceptance,
    per_server,
    recently,
    state_bands,
)
from dashboards.grafana.source.tables import Column, rows

ROOT = 'role="root"'
READY = q.of_hosts("ddtree_ops_server_ready")
FAILED = q.of_hosts("ddtree_ops_failure_last_timestamp_seconds", ROOT)
MISSING = f"sum by (host) ({q.of_hosts('ddtree_ops_gpus_expected')}) - sum by (host) ({q.of_hosts('ddtree_ops_gpus_seen')})"
DRIFT = f"sum by (host) ({q.of_hosts('ddtree_ops_release_drift_items')})"
TOKEN_RATE = q.rate("ddtree_ops_server_generated_tokens_total")
QUEUED = q.of_hosts("ddtree_ops_server_requests_queued")


def _now() -> Strip:
    serving = style.thresholds((None, style.BAD), (1, style.GOOD))
    failures = f"round(sum({recently('ddtree_ops_failures_total', ROOT)}))"
    silent = 'count(up{job="ddtree-exporter"} == 0) or vector(0)'
    drift = f"sum({q.of_hosts('ddtree_ops_release_drift_items')})"
    all_hosts = "Exporters that Prometheus can't scrape, of all hosts: what is chosen above doesn't matter."
    down = style.now(f"count({READY} == 0) or vector(0)")
    missing = style.now(f"sum(({MISSING}) > 0) or vector(0)")
    waiting = style.now(f"sum({QUEUED}) or vector(0)")
    bad, warn = style.BAD_FROM_ONE, style.WARN_FROM_ONE
    return even(
        4,
        number("Serving", "Servers that answered a real generation and are up.", style.now(f"sum({READY})"), limits=serving),
        number("Not serving", "Servers that load, are stopped or have failed.", down, limits=bad),
        number("Failures", "Root failures within the time range.", style.now(failures), limits=bad),
        number("GPUs missing", "GPUs that releases need and drivers don't show.", missing, limits=bad),
        number("Exporters silent", all_hosts, style.now(silent), limits=bad),
        number("Drift", "Things that differ from the releases as they were staged.", style.now(drift), limits=warn),
        number("Queued", "Requests that wait.", waiting, limits=QUEUE_LIMITS),
        number("Tokens/s", "Tokens that all servers generate.", style.now(f"sum({TOKEN_RATE})"), unit="short"),
    )


def _cells(*steps: tuple[float, str]) -> Thresholds:
    return style.thresholds((None, "transparent"), *steps)


def _servers() -> table.Panel:
    failed = f"max by (host, port, kind) ({FAILED})"
    asked = (
        STATE,
        f"max by (host, port) ({q.of_hosts('ddtree_ops_load_progress_ratio')})",
        f"max by (host, port) (time() - {q.of_hosts('ddtree_ops_load_last_progress_timestamp_seconds')})",
        f"sum by (host, port) ({q.of_hosts('ddtree_ops_server_requests_running')})",
        f"sum by (host, port) ({QUEUED})",
        f"max by (host, port) ({q.of_hosts('ddtree_ops_server_kv_pool_used_ratio')})",
        f"sum by (host, port) ({TOKEN_RATE})",
        acceptance("host, port"),
        f"time() - topk by (host, port) (1, {failed})",
        per_server(MISSING),
        per_server(DRIFT),
        f"max by (host, port, release) ({q.RELEASE})",
    )
    columns = (
        Column("host", "Host", width=90),
        Column("port", "Port", width=60),
        Column("A", "State", named=STATES, width=125),
        Column("B", "Loaded", "percentunit", 0, 70),
        Column("C", "Stuck for", "s", 0, 80, _cells((300, style.BAD))),
        Column("D", "Running", "none", 0, 75),
        Column("E", "Queued", "none", 0, 70, _cells((8, style.WARN), (32, style.BAD))),
        Column("F", "KV pool", "percentunit", 0, 70, _cells((0.9, style.WARN), (0.97, style.BAD))),
        Column("G", "Tokens/s", "none", 0, 75),
        Column("H", "Acceptance", "none", 2, 90),
        Column("I", "Since failure", "s", 0, 105, AGE_LIMITS),
        Column("kind", "Its kind"),
        Column("J", "GPUs missing", "none", 0, 105, _cells((1, style.BAD))),
        Column("K", "Drift", "none", 0, 55, _cells((1, style.WARN))),
        Column("release", "Release", width=150),
    )
    words = "One row a server. No acceptance stands where nothing was decoded in the last minutes."
    return rows("Servers", words, [style.cells(expr, chr(65 + index)) for index, expr in enumerate(asked)], columns)


def _work() -> tuple[Strip, ...]:
    host = "{{host}}"
    tokens = style.query(q.total("host", TOKEN_RATE), host)
    queue = style.query(q.total("host", QUEUED), host)
    pool = style.query(f"max by (host) ({q.of_hosts('ddtree_ops_server_kv_pool_used_ratio')})", host)
    first = style.query(q.quantile(0.95, "sglang_time_to_first_token_seconds", "host"), host)
    whole = style.query(q.quantile(0.95, "sglang_e2e_request_latency_seconds", "host"), host)
    length = style.query(acceptance("host"), host)
    first_limits = style.thresholds((None, style.GOOD), (2, style.WARN), (10, style.BAD))
    waits = "By host. Growing for minutes means overload."
    decoded = "Tokens per request and verify step, bonus token included. No line while nothing is decoded."
    return (
        even(
            8,
            lines("Generated tokens", "By host.", tokens, unit=TOKENS),
            lines("Requests that wait", waits, queue, limits=QUEUE_LIMITS),
            lines("KV pool in use", "At 100 % requests are retracted.", pool, unit="percentunit", limits=POOL_LIMITS, top=1),
        ),
        even(
            8,
            lines("Time to first token, p95", "Queueing included.", first, unit="s", limits=first_limits),
            lines("Whole request, p95", "From arrival to the last token.", whole, unit="s"),
            lines("Acceptance length", decoded, length, unit="none"),
        ),
    )


def _hardware() -> Strip:
    heat = style.query(f"max by (host) ({q.of_hosts('ddtree_ops_gpu_temperature_celsius')})", "{{host}}")
    power = style.query(f"sum by (host) ({q.of_hosts('ddtree_ops_gpu_power_watts')})", "{{host}}")
    slow = style.query(f"sum by (host, reason) ({q.of_hosts('ddtree_ops_gpu_throttled')}) > 0", "{{host}} {{reason}}")
    limits = style.thresholds((None, style.GOOD), (83, style.WARN), (90, style.BAD))
    return Strip(
        7,
        (
            (lines("Hottest GPU", "Of each host.", heat, unit="celsius", limits=limits), 8),
            (lines("GPU power", "All GPUs of each host together.", power, unit="watt"), 8),
            (
                lines(
                    "Throttled GPUs", "GPUs whose clocks are held down, by reason.", slow, unit="none", bars=True, empty="none"
                ),
                8,
            ),
        ),
    )


FLEET = Board(
    uid="ddtree-fleet",
    title="DDTree fleet",
    description="All hosts: what they do now, and what went wrong.",
    sections=(
        Section("", (_now(), Strip(6, ((state_bands(), 24),)), Strip(6, ((_servers(), 24),)))),
        Section("Work", _work()),
        Section("Hardware", (_hardware(),)),
    ),
)
