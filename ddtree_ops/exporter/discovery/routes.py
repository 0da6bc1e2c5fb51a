"""`/sd/JOB`, `/sd` (all jobs in one list) and `/api/sd` (what is told, and what is wrong) of a controller's exporter."""

from __future__ import annotations

from ddtree_ops.exporter.discovery.groups import ALL, CONTENT_TYPE, by_job
from ddtree_ops.exporter.discovery.targets import Discovery, Found
from ddtree_ops.exporter.web.messages import Request, Response, json_document, text
from ddtree_ops.exporter.web.routes import Route

STALE = "Ddtree-Inventory-Read-At"  # only while the inventory can't be read: Unix time of what is told
_MOST_BROKEN = 1000


def routes(discovery: Discovery) -> tuple[Route, ...]:
    """To be added to the exporter's table."""

    def answer(request: Request) -> Response:
        return _answer(discovery.last, request.params.get("job", ALL))

    def about(_: Request) -> Response:
        return json_document(_about(discovery.last))

    return Route("/sd", answer), Route("/sd/<job>", answer), Route("/api/sd", about)


def _answer(found: Found, job: str) -> Response:
    """Anything but 200 makes Prometheus keep the targets that it has (prometheus.io/docs, "HTTP SD")."""
    if not found.read_at:
        return text("the inventory can't be read; the log says why", 503)
    body = found.bodies.get(job)
    if body is None:
        return text("no such job; known are " + ", ".join(name for name in found.bodies if name), 404)
    return Response(200, CONTENT_TYPE, body, {STALE: f"{found.read_at:.0f}"} if found.problem else {})


def _about(found: Found) -> dict[str, object]:
    broken = [one for one in found.hosts if one.problems]
    return {
        "schema": "ddtree-ops/discovery/v1",
        "read_at": found.read_at or None,
        "problem": found.problem or None,
        "jobs": {job: len(targets) for job, targets in by_job(found.hosts).items() if job},
        "broken": [
            {"host": one.host, "problems": list(one.problems), "last_good": one.host in found.kept}
            for one in broken[:_MOST_BROKEN]
        ],
        "more_broken": max(0, len(broken) - _MOST_BROKEN),
    }
