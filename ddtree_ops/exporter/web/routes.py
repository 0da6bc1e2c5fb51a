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


@dataclass(frozen=True)
class Route:
    """`pattern` is a path; `<name>` in it stands for one segment of letters, digits and `._-`."""

    pattern: str
    handler: Handler


class Routes:
    """The first pattern that matches answers."""

    def __init__(self, *routes: Route) -> None:
        self._routes = tuple((_compiled(route.pattern), route.handler) for route in routes)

    def find(self, path: str) -> tuple[Handler, Mapping[str, str]]:
        """The handler and what its pattern caught; one that says 404 where nothing matches."""
        for pattern, handler in self._routes:
            match = pattern.fullmatch(path)
            if match:
                return handler, match.groupdict()
        return _not_found, {}


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_NAME.sub(_SEGMENT, pattern.replace(".", r"\.")), re.ASCII)


def _not_found(_request: Request) -> Response:
    return text("not found", 404)
