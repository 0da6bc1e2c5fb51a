"""`/server/<port>/metrics` and `/server/<port>/health`: SGLang's own answers, so that nothing but the exporter need listen.

Only for ports of our own units, and only these two paths; nothing that the client says goes on to the server.
"""

from __future__ import annotations

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.loopback import HEALTH, METRICS
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.web.messages import TEXT, Request, Response, text
from ddtree_ops.ports import HttpResponse
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

# A probe may have an answer that is this many seconds old: each one costs the server a generation.
FRESH = {METRICS: 0.0, HEALTH: 1.0}
_PLAIN = ("text/plain", "application/openmetrics-text", "application/json")


def passed_through(target: Target, request: Request) -> Response:
    """The answer of the server at `port` to `page`, metrics or health, with its status."""
    port, path = whole_number(request.params.get("port"), MOST_PORT), f"/{request.params.get('page')}"
    try:
        if port is None or path not in FRESH or not target.has(port):
            return text("no server of ours has this port, or no such page is passed on", 404)
        return _passed(target.loopback.get(port, path, FRESH[path]))
    except TimeoutError:
        return text("the server gave no whole answer in time", 504)
    except DdtreeOpsError:
        return text("the host can't be asked", 502)


def _passed(answer: HttpResponse) -> Response:
    """503 for a port that refuses: that is what a server which isn't up would say if it could. 502 for an answer that is none."""
    if answer.status == 0:
        return text(answer.problem, 502) if answer.problem else text("the server's port refuses, or breaks off", 503)
    # Redirects would lead the client elsewhere, and a page could carry a script in our name.
    status = answer.status if 200 <= answer.status < 300 or 400 <= answer.status < 600 else 502
    return Response(status, _content_type(answer.content_type), answer.body)


def _content_type(given: str | None) -> str:
    """The server's own where it is plain data."""
    kind = (given or "").partition(";")[0].strip().lower()
    return given if given and kind in _PLAIN and given.isascii() and given.isprintable() else TEXT
