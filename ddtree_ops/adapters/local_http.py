"""HTTP to a port of the machine that we run on."""

from __future__ import annotations

import socket
import time

from ddtree_ops.adapters.bounded_http import GONE, exchange, late
from ddtree_ops.ports import HttpRequest, HttpResponse


class LocalHttp:
    """One request per connection to 127.0.0.1: a dead server can't leave a stale connection behind."""

    def request(self, request: HttpRequest) -> HttpResponse:
        """Raises TimeoutError when the answer doesn't come in time."""
        begun = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", request.port), request.timeout) as connection:
                return exchange(connection, request, begun)
        except TimeoutError as error:
            raise late(request) from error
        except GONE:
            # Nobody listens, or the server went away in the middle of the answer: to the caller that is the same.
            return HttpResponse(0, b"", time.monotonic() - begun)
