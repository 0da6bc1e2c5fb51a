"""Asking the servers' ports: for one port and path never more than one question at a time, whoever wants its answer.

Collectors, and Prometheus through the pass-through, want the same two answers, and each costs the server something: /metrics
is put together in the event loop that also answers users (prometheus_client's multi-process mode), and /health makes a
generation of one token by default (sglang/srt/entrypoints/http_server.py).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from ddtree_ops.ports import Http, HttpRequest, HttpResponse

METRICS = "/metrics"
HEALTH = "/health"
# Seconds. SGLang itself says 503 after 20 s without a token (SGLANG_HEALTH_CHECK_TIMEOUT), and that is the better answer.
TIMEOUTS = {METRICS: 10.0, HEALTH: 25.0}
# What an answer may have: /metrics of eight ranks is some hundred KB. Larger ones than MOST_KEPT are asked for each time.
MOST_BYTES = {METRICS: 2 << 20, HEALTH: 64 << 10}
MOST_KEPT = 512 << 10


@dataclass(frozen=True)
class _Kept:
    response: HttpResponse
    at: float


class Loopback:
    """GET on the ports of one host. Threads may share it."""

    def __init__(self, http: Http, monotonic: Callable[[], float]) -> None:
        self._http = http
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._running: dict[tuple[int, str], Future[HttpResponse]] = {}
        self._kept: dict[tuple[int, str], _Kept] = {}

    def get(self, port: int, path: str, fresh: float = 0.0) -> HttpResponse:
        """The answer; one that is not older than `fresh` seconds will do, and so will the one that is under way.

        Raises as Http.request does: TimeoutError, Unreachable.
        """
        key = (port, path)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and self._monotonic() - kept.at <= fresh:
                return kept.response
            running = self._running.get(key)
            if running is None:
                own: Future[HttpResponse] = Future()
                self._running[key] = own
        if running is not None:
            return running.result(TIMEOUTS[path] + 5.0)
        return self._ask(key, own)

    def _ask(self, key: tuple[int, str], own: Future[HttpResponse]) -> HttpResponse:
        port, path = key
        try:
            response = self._http.request(HttpRequest(port, path, timeout=TIMEOUTS[path], most_bytes=MOST_BYTES[path]))
        except BaseException as error:
            self._done(key, None)
            own.set_exception(error)
            raise
        self._done(key, response)
        own.set_result(response)
        return response

    def _done(self, key: tuple[int, str], response: HttpResponse | None) -> None:
        with self._lock:
            del self._running[key]
            self._kept.pop(key, None)
            if response is not None and len(response.body) <= MOST_KEPT:
                self._kept[key] = _Kept(response, self._monotonic())
