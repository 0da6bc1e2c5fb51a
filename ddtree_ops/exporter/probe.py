"""`/probe?host=NAME`: one host's exposition from the controller, within the time that Prometheus gives a scrape."""

from __future__ import annotations

import math

from ddtree_ops.exporter.exposition import CONTENT_TYPE, render
from ddtree_ops.exporter.observers import Observers
from ddtree_ops.exporter.pass_through import passed_through
from ddtree_ops.exporter.web.messages import Request, Response, text
from ddtree_ops.exporter.web.routes import Route

# Prometheus sends it with each scrape (scrape/scrape.go); its own default is 10 s.
TIMEOUT_HEADER = "x-prometheus-scrape-timeout-seconds"
DEFAULT_SECONDS = 10.0
MOST_SECONDS = 60.0
# For the answer's way back.
MARGIN_SECONDS = 0.5


def routes(observers: Observers) -> tuple[Route, ...]:
    """To be added to the exporter's table. The servers of a host: `/hosts/NAME/server/PORT/metrics` and `.../health`."""

    def probe(request: Request) -> Response:
        observer = observers.of(request.query.get("host", ""))
        if observer is None:
            return text("no such host in the inventory" if "host" in request.query else "give ?host=NAME", 404)
        return Response(content_type=CONTENT_TYPE, body=render(observer.settled(seconds_of(request))))

    def server(request: Request) -> Response:
        observer = observers.of(request.params.get("host", ""))
        return passed_through(observer.target, request) if observer else text("no such host in the inventory", 404)

    return Route("/probe", probe, waits=True), Route("/hosts/<host>/server/<port>/<page>", server, waits=True)


def seconds_of(request: Request) -> float:
    """How long this scrape may take."""
    try:
        given = float(request.headers.get(TIMEOUT_HEADER, DEFAULT_SECONDS))
    except ValueError:
        given = DEFAULT_SECONDS
    if not math.isfinite(given):
        given = DEFAULT_SECONDS
    return min(max(given - MARGIN_SECONDS, given / 2, 0.0), MOST_SECONDS)
