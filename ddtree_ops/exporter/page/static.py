"""Style and script, read once from the package."""

from __future__ import annotations

from functools import cache

from ddtree_ops.exporter.page.render import text_file
from ddtree_ops.exporter.web.messages import Request, Response, text

_CACHED = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_TYPES = {"status.css": "text/css; charset=utf-8", "status.js": "text/javascript; charset=utf-8"}
_PARTS = {"status.css": ("status.css", "status-host.css", "status-narrow.css"), "status.js": ("status.js",)}


def static(request: Request) -> Response:
    """`/static/<name>`; addresses in pages carry the version, so that browsers may keep it for ever."""
    name = request.params.get("name", "")
    if name not in _TYPES:
        return text("not found", 404)
    return Response(200, _TYPES[name], _content(name), _CACHED)


@cache
def _content(name: str) -> bytes:
    return "".join(text_file(part) for part in _PARTS[name]).encode()
