"""`/server/<port>/metrics` and `/server/<port>/health`: SGLang's own answers, so that nothing but the exporter need listen.

Only for ports of our own units, and only these two paths; nothing that the client says goes on to the server.
"""

from __future__ import annotations

from dataclasses import dataclass

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.loopback import HEALTH, METRICS
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.web.messages import TEXT, Request, Response, text
from ddtree_ops.ports import HttpResponse
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

MOST_HEALTH_BYTES = 64 << 10
# A probe may have an answer that is this many seconds old: each one costs the server a generation.
FRESH = {METRICS: 0.0, HEALTH: 1.0}
_PLAIN = ("text/plain", "application/openmetrics-text", "application/json")


@dataclass(frozen=True)
class PassThrough:
    """Handlers for the exporter's routes."""

    target: Target

    def metrics(self, request: Request) -> Response:
        """/metrics as the server gives it."""
        return self._of(request, METRICS)

    def health(self, request: Request) -> Response:
        """/health, with the server's status."""
        return self._of(request, HEALTH)

    def _of(self, request: Request, path: str) -> Response:
        port = whole_number(request.params.get("port"), MOST_PORT)
        try:
            if port is None or not self.target.has(port):
                return text("no server of ours has this port", 404)
            return _passed(self.target.loopback.get(port, path, FRESH[path]), path)
        except TimeoutError:
            return text("the server gave no whole answer in time", 504)
        except DdtreeOpsError:
            return text("the host can't be asked", 502)


def _passed(answer: HttpResponse, path: str) -> Response:
    """503 for a port that refuses: that is what a server which isn't up would say if it could."""
    if answer.status == 0:
        return text("the server's answer can't be taken" if answer.problem else "the server's port refuses", 503)
    if path == HEALTH and len(answer.body) > MOST_HEALTH_BYTES:
        return text("the server's answer is too long", 502)
    # Redirects would lead the client elsewhere, and a page could carry a script in our name.
    status = answer.status if 200 <= answer.status < 300 or 400 <= answer.status < 600 else 502
    return Response(status, _content_type(answer.content_type), answer.body)


def _content_type(given: str | None) -> str:
    """The server's own where it is plain data."""
    kind = (given or "").partition(";")[0].strip().lower()
    return given if given and kind in _PLAIN and given.isascii() and given.isprintable() else TEXT
