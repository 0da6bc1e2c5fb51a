"""HTTP to a port of the machine that we run on."""

from __future__ import annotations

import http.client
import socket
import time

from ddtree_ops.adapters.bounded_http import TooLongError, exchange
from ddtree_ops.ports import HttpRequest, HttpResponse


class LocalHttp:
    """One request per connection to 127.0.0.1: a dead server can't leave a stale connection behind."""

    def request(self, request: HttpRequest) -> HttpResponse:
        """Raises TimeoutError when the answer doesn't come in time."""
        begin = time.monotonic()
        try:
            with socket.create_connection(("127.0.0.1", request.port), request.timeout) as connection:
                status, body, content_type = exchange(connection, request, begin + request.timeout)
        except TimeoutError as error:
            raise TimeoutError(f"{request.path}: no whole answer within {request.timeout:g} s") from error
        except TooLongError:
            problem = f"{request.path}: the answer has more than {request.most_bytes >> 20} MiB"
            return HttpResponse(0, b"", time.monotonic() - begin, problem)
        except (http.client.HTTPException, OSError, EOFError):
            # Nobody listens, or the server went away in the middle of the answer: to the caller that is the same.
            return HttpResponse(0, b"", time.monotonic() - begin)
        return HttpResponse(status, body, time.monotonic() - begin, content_type=content_type)
