"""HTTP to a loopback port of the host, through a forwarded channel of the SSH connection that we already have."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ddtree_ops.errors import Unreachable
from ddtree_ops.ports import HttpRequest, HttpResponse

if TYPE_CHECKING:
    from ddtree_ops.adapters.ssh import SshShell

# RFC 4254, section 5.1: the open was refused because nothing listens there.
CONNECT_FAILED = 2


class TunnelledHttp:
    """One request per channel: a dead server can't leave a stale connection behind."""

    def __init__(self, shell: SshShell) -> None:
        self._shell = shell

    def request(self, request: HttpRequest) -> HttpResponse:
        start = time.monotonic()
        channel = self._channel(request)
        if channel is None:
            return HttpResponse(0, b"", time.monotonic() - start)
        client = _ChannelConnection(channel, request.timeout)
        try:
            client.request(request.method, request.path, body=_body(request), headers=_headers(request))
            answer = client.getresponse()
            return HttpResponse(answer.status, answer.read(), time.monotonic() - start)
        except TimeoutError as error:
            raise TimeoutError(f"{request.path}: no answer within {request.timeout:g} s") from error
        except (http.client.HTTPException, OSError, EOFError) as error:
            if not channel.get_transport().is_active():
                raise Unreachable(f"{self._shell.host}: the connection was lost: {error}") from error
            # The server went away in the middle of the answer: for the caller that is the same as nobody there.
            return HttpResponse(0, b"", time.monotonic() - start)
        finally:
            with suppress(OSError, EOFError):  # a lost connection; the real error is on its way
                client.close()

    def _channel(self, request: HttpRequest) -> Any:
        import paramiko

        try:
            return self._shell.transport().open_channel(
                "direct-tcpip", ("127.0.0.1", request.port), ("127.0.0.1", 0), timeout=request.timeout
            )
        except paramiko.ChannelException as error:
            if error.code == CONNECT_FAILED:
                return None
            raise Unreachable(f"{self._shell.host}: sshd forbids forwarding: {error.text}") from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise Unreachable(f"{self._shell.host}: the connection was lost: {error}") from error


class _ChannelConnection(http.client.HTTPConnection):
    def __init__(self, channel: Any, timeout: float) -> None:
        super().__init__("127.0.0.1", timeout=timeout)
        channel.settimeout(timeout)
        self.sock = channel

    def connect(self) -> None:
        """The channel is connected already."""


def _headers(request: HttpRequest) -> dict[str, str]:
    headers = {"Accept": "application/json", "Connection": "close"}
    if request.body is not None:
        headers["Content-Type"] = "application/json"
    if request.bearer:
        headers["Authorization"] = f"Bearer {request.bearer}"
    return headers


def _body(request: HttpRequest) -> bytes | None:
    return None if request.body is None else json.dumps(request.body).encode()
