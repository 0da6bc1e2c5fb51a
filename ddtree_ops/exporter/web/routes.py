"""Which handler answers which path: a table of patterns like `/server/<port>/metrics`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ddtree_ops.exporter.web.messages import Request, Response, text

Handler = Callable[[Request], Response]

_NAME = re.compile(r"<([a-z_]+)>")
# One segment of a path. Longer ones, and others, belong to nothing that we have.
_SEGMENT = r"(?P<\1>[A-Za-z0-9._-]{1,128})"
_ABSOLUTE = re.compile(r"https?://(?P<host>[^/]+)(?P<path>/.*)?", re.IGNORECASE)


@dataclass(frozen=True)
class Route:
    """`pattern` is a path; `<name>` in it stands for one segment of letters, digits and `._-`.

    `waits`: its handler may wait for somebody else, so that it has turns of its own.
    """

    pattern: str
    handler: Handler
    waits: bool = False


class Routes:
    """The first pattern that matches answers."""

    def __init__(self, *routes: Route) -> None:
        self._routes = tuple((_compiled(route.pattern), route) for route in routes)

    def find(self, path: str) -> tuple[Route, Mapping[str, str]]:
        """The route and what its pattern caught; one that says 404 where nothing matches."""
        for pattern, route in self._routes:
            match = pattern.fullmatch(path)
            if match:
                return route, match.groupdict()
        return _NOT_FOUND, {}


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_NAME.sub(_SEGMENT, pattern.replace(".", r"\.")), re.ASCII)


def addressed(target: str, host: str) -> tuple[str, str]:
    """Host and path that a request is for, by its target without the query and its Host.

    Of a whole address the host counts that is in it (RFC 9112, 3.2.2).
    """
    absolute = _ABSOLUTE.fullmatch(target)
    return (absolute["host"], absolute["path"] or "/") if absolute else (host, target)


_NOT_FOUND = Route("", lambda _request: text("not found", 404))
