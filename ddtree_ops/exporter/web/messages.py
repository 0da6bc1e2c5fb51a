"""What a route's handler gets and gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TEXT = "text/plain; charset=utf-8"
JSON = "application/json; charset=utf-8"
HTML = "text/html; charset=utf-8"
EVENTS = "text/event-stream; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """A GET or HEAD. `path` is decoded and has no query; `query` the first value of each name; `params` what the route's
    pattern caught; `headers` by lower-case names. All of it is what a client says.
    """

    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"


@dataclass(frozen=True)
class Response:
    """A whole body, or an iterator for a stream, which is asked for a piece each `every` seconds until the client is gone.

    It must not wait itself, an empty piece isn't sent, and a generator is closed at the end. It should give something every
    15 s (a comment in server-sent events), so that proxies don't take the stream for dead.
    """

    status: int = 200
    content_type: str = TEXT
    body: bytes | Iterator[bytes] = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    every: float = 1.0


def text(content: str, status: int = 200) -> Response:
    """A few words, with a line break at the end."""
    return Response(status, TEXT, (content + "\n").encode("utf-8", "replace"))


BUSY = Response(503, TEXT, b"too many are asking, ask again\n", {"Retry-After": "1"})


def json_document(data: Any) -> Response:
    """A JSON document."""
    return Response(200, JSON, (json.dumps(data) + "\n").encode())
