"""What the server itself answers on its port, read through the host: SGLang's own metrics are scraped from it directly."""

from __future__ import annotations

from ddtree_ops.exporter.metric import Subject

_SERVER = Subject("server", ("port",), most=4)
_HEALTH = Subject("health", ("port",), most=4)

HTTP_UP = _SERVER.gauge("server_http_up", "1 if /metrics was answered with 200; 0 during the whole load, when the port refuses.")
HEALTH = _HEALTH.gauge(
    "server_health_success",
    "1 if /health answered 200 in time; 0 while the unit isn't active. One failed probe of a server whose counters move says "
    "nothing.",
)
HEALTH_SECONDS = _HEALTH.gauge(
    "server_health_duration_seconds", "How long /health took to answer, or the timeout; absent while the port refuses."
)
RUNNING = _SERVER.gauge("server_requests_running", "Requests that are being decoded.")
QUEUED = _SERVER.gauge("server_requests_queued", "Requests that wait.")
KV_USED = _SERVER.gauge("server_kv_pool_used_ratio", "Used part of the KV pool, 0 to 1.")
GENERATED = _SERVER.counter(
    "server_generated_tokens_total", "Tokens generated since the server started (SGLang's generation_tokens_total)."
)
