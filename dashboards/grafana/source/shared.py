"""What several dashboards show: what a server does as a number, and the panels made of it."""

from __future__ import annotations

from grafana_foundation_sdk.builders import statetimeline

from dashboards.grafana.source import queries as q
from dashboards.grafana.source import style
from dashboards.grafana.source.panels import states

STATES = {
    0: ("stopped", style.QUIET),
    1: ("FAILED", style.BAD),
    2: ("restarting", style.WARN),
    3: ("shutdown", style.QUIET),
    4: ("arguments", "super-light-blue"),
    5: ("distributed init", "light-blue"),
    6: ("weights", "blue"),
    7: ("KV cache", "semi-dark-blue"),
    8: ("graph capture", "dark-blue"),
    9: ("warm-up", "purple"),
    10: ("serving", style.GOOD),
    11: ("STALLED", style.BAD),
}
STALLED = f"(time() - {q.of_hosts('ddtree_ops_load_last_progress_timestamp_seconds')}) > bool 300"
STATE = q.state_number(
    {
        "shutdown": 3,
        "arguments": 4,
        "distributed_init": 5,
        "weights": 6,
        "kv_cache": 7,
        "graph_capture": 8,
        "warmup": 9,
        "serving": 10,
    },
    {"failed": 1, "activating": 2},
    f"11 * ({STALLED})",
)
TOKENS = "suffix: tok/s"
LENGTH = "ddtree_ops_speculation_acceptance_length_tokens"
QUEUE_LIMITS = style.thresholds((None, style.GOOD), (8, style.WARN), (32, style.BAD))
#: Seconds since a failure: it is fresh for an hour, and of today for a day.
AGE_LIMITS = style.thresholds((None, style.BAD), (3600, style.WARN), (86400, style.QUIET))
POOL_LIMITS = style.thresholds((None, style.GOOD), (0.9, style.WARN), (0.97, style.BAD))


def state_bands() -> statetimeline.Panel:
    """What every chosen server did over time."""
    return states(
        "What each server did",
        "Green serves; blue loads, darker as it gets further; orange waits for systemd to start it again; red has failed for "
        "good, or loads without any progress for five minutes. A gap means that nobody scraped the exporter.",
        style.query(STATE, "{{host}}:{{port}}"),
        STATES,
    )


def acceptance(by: str) -> str:
    """Mean tokens that a verify step commits per request, bonus token included. No value while nothing is decoded."""
    return q.ratio(q.total(by, q.rate(f"{LENGTH}_sum")), q.total(by, q.rate(f"{LENGTH}_count")))


def recently(metric: str, more: str = "") -> str:
    """How much a counter grew in the whole time range."""
    return f"increase({q.of_hosts(metric, more)}[$__range])"


def per_server(expr: str) -> str:
    """A value of a host, repeated for each of its servers, so that it can stand in their rows."""
    return f"max by (host, port) (({expr}) * on (host) group_right () ({q.of_hosts('ddtree_ops_server_ready')} * 0 + 1))"
