"""What the server itself answers on its port, read through the host: SGLang's own metrics are scraped from it directly."""

from __future__ import annotations

from ddtree_ops.exporter.metric import PREFIX, Metric, Type

HTTP_UP = Metric(
    PREFIX + "server_http_up",
    Type.GAUGE,
    "1 if /metrics was answered with 200; 0 during the whole load, when the port refuses.",
    "server",
    ("port",),
    most=4,
)
HEALTH = Metric(
    PREFIX + "server_health_success",
    Type.GAUGE,
    "1 if /health answered 200 in time; 0 while the unit isn't active. One failed probe of a server whose counters move says "
    "nothing.",
    "health",
    ("port",),
    most=4,
)
HEALTH_SECONDS = Metric(
    PREFIX + "server_health_duration_seconds",
    Type.GAUGE,
    "How long /health took to answer, or the timeout; absent while the port refuses.",
    "health",
    ("port",),
    most=4,
)
RUNNING = Metric(PREFIX + "server_requests_running", Type.GAUGE, "Requests that are being decoded.", "server", ("port",), most=4)
QUEUED = Metric(PREFIX + "server_requests_queued", Type.GAUGE, "Requests that wait.", "server", ("port",), most=4)
KV_USED = Metric(
    PREFIX + "server_kv_pool_used_ratio", Type.GAUGE, "Used part of the KV pool, 0 to 1.", "server", ("port",), most=4
)
GENERATED = Metric(
    PREFIX + "server_generated_tokens_total",
    Type.COUNTER,
    "Tokens generated since the server started (SGLang's generation_tokens_total).",
    "server",
    ("port",),
    most=4,
)

ALL = (
    HTTP_UP,
    HEALTH,
    HEALTH_SECONDS,
    RUNNING,
    QUEUED,
    KV_USED,
    GENERATED,
)
