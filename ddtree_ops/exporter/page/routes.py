"""The status page's routes: one line in the exporter's table."""

from __future__ import annotations

from ddtree_ops.exporter.page.board import Board, Frame
from ddtree_ops.exporter.page.events import EVERY_SECONDS, FleetNews, stream
from ddtree_ops.exporter.page.fleet import fleet_page
from ddtree_ops.exporter.page.host import HostNews, host_page
from ddtree_ops.exporter.page.reports import Reports, find, policy
from ddtree_ops.exporter.page.static import static
from ddtree_ops.exporter.page.table import Selection
from ddtree_ops.exporter.sight.document import fleet_document
from ddtree_ops.exporter.sight.model import HostSight
from ddtree_ops.exporter.web.messages import EVENTS, HTML, JSON, Request, Response, text
from ddtree_ops.exporter.web.routes import Route

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class StatusPage:
    """Handlers over one board."""

    def __init__(self, board: Board, reports: Reports) -> None:
        self._board = board
        self._reports = reports

    def routes(self) -> tuple[Route, ...]:
        return (
            Route("/", self.page),
            Route("/events", self.events),
            Route("/api/status", self.document),
            Route("/reports/<fingerprint>", self.report),
            Route("/static/<name>", static),
        )

    def page(self, request: Request) -> Response:
        """The fleet's table; of one host, everything that is known of it."""
        frame = self._board.frame()
        asked = request.query.get("host")
        one = asked if asked is not None else None if frame.fleet or not frame.sights else frame.sights[0].host
        if one is None:
            return _html(fleet_page(frame, Selection.of(request.query)))
        found = _host(frame, one)
        if found is None:
            return text("no such host", 404)
        return _html(host_page(frame, found))

    def events(self, request: Request) -> Response:
        """Server-sent events of the same page."""
        news: FleetNews | HostNews
        if "host" in request.query:
            if _host(self._board.frame(), request.query["host"]) is None:
                return text("no such host", 404)
            news = HostNews(request.query["host"])
        else:
            since = request.headers.get("last-event-id") or request.query.get("since", "")
            news = FleetNews(Selection.of(request.query), since[:64])
        return Response(200, EVENTS, stream(self._board, news.take), {**SECURITY, "X-Accel-Buffering": "no"}, EVERY_SECONDS)

    def document(self, request: Request) -> Response:
        """All hosts, or the one that was asked for."""
        now, sights = self._board.hosts()
        if "host" in request.query:
            sights = tuple(sight for sight in sights if sight.host == request.query["host"])
            if not sights:
                return text("no such host", 404)
        return Response(200, JSON, fleet_document(now, sights), SECURITY)

    def report(self, request: Request) -> Response:
        """A stored report. Sandboxed: it shows texts of logs, and gets nothing of this page's origin."""
        fingerprint = request.params.get("fingerprint", "")
        frame = self._board.frame()
        asked = request.query.get("host")
        for sight in frame.sights if asked is None else filter(None, [_host(frame, asked)]):
            known = {failure.fingerprint for server in sight.servers for failure in server.failures}
            page = find(self._reports, sight.host, fingerprint, known)
            if page is not None:
                return Response(200, HTML, page, {**SECURITY, "Content-Security-Policy": policy(page)})
        return text("no report of this failure is stored here", 404)


def _host(frame: Frame, name: str) -> HostSight | None:
    return next((sight for sight in frame.sights if sight.host == name), None)


def _html(page: str) -> Response:
    return Response(200, HTML, page.encode("utf-8", "replace"), SECURITY)
