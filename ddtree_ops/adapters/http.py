"""HTTP to a loopback port of the host, through a forwarded channel of the SSH connection that we already have."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ddtree_ops.adapters.bounded_http import GONE, exchange
from ddtree_ops.adapters.endings import lost
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
        channel = self._channel(request)
        start = time.monotonic()  # connecting to the host has a limit of its own
        if channel is None:
            return HttpResponse(0, b"", 0.0)
        try:
            return exchange(channel, request, start)
        except TimeoutError:
            raise
        except GONE as error:
            if not channel.get_transport().is_active():
                raise lost(self._shell.host, error) from error
            # The server went away in the middle of the answer: for the caller that is the same as nobody there.
            return HttpResponse(0, b"", time.monotonic() - start)
        finally:
            with suppress(OSError, EOFError):  # a lost connection; the real error is on its way
                channel.close()

    def _channel(self, request: HttpRequest) -> Any:
        import paramiko

        try:
            here = ("127.0.0.1", 0)
            there = ("127.0.0.1", request.port)
            return self._shell.channel(lambda one: one.open_channel("direct-tcpip", there, here, timeout=request.timeout))
        except paramiko.ChannelException as error:
            if error.code == CONNECT_FAILED:
                return None
            raise Unreachable(f"{self._shell.host}: sshd forbids forwarding: {error.text}") from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise lost(self._shell.host, error) from error
