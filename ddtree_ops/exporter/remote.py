"""A host over SSH for collectors that all ask at the same time: no way to it is news for all."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ddtree_ops.errors import HostCommandFailed, HostTimedOut, Unreachable
from ddtree_ops.ports import Command, Completed, Http, HttpRequest, HttpResponse, Shell, Stream

# How long the news that a host can't be reached is believed, so that ten collectors don't wait for ten connects.
BELIEVED_SECONDS = 5.0
# Something is asked every few seconds, with a timeout of ten: so long without any answer, there is no way to the host.
SILENT_SECONDS = 25.0
# So many commands in a row that found no way mean a connection that only looks alive, as behind a cut cable.
DEAD_AFTER = 3


class Connecting(Shell, Protocol):
    """A shell that can be told to connect: SshShell."""

    def transport(self) -> Any:
        """Connects if it isn't connected. Raises Unreachable."""
        ...

    def close(self) -> None:
        """For good."""
        ...


class RemoteShell:
    """Opens the connection when it is needed and again when it is lost; `connects` bounds how many hosts do so at once."""

    def __init__(self, inner: Connecting, connects: threading.Semaphore, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._inner = inner
        self._connects = connects
        self._monotonic = monotonic
        self._connecting = threading.Lock()
        self._lost: tuple[float, Unreachable] | None = None
        self._transport: Any = None
        self._without_way = 0
        self._answered_at = monotonic()

    @property
    def host(self) -> str:
        return self._inner.host

    def run(self, command: Command) -> Completed:
        """Raises as SshShell.run."""
        self.connect()
        return self._judged(lambda: self._inner.run(command))

    def stream(self, argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        """Raises Unreachable."""
        self.connect()
        return self._inner.stream(argv)

    def decided(self) -> bool:
        """Whether connect() would end at once: connected, or known to be lost a moment ago."""
        lost = self._lost
        return self._is_connected() or (lost is not None and self._monotonic() - lost[0] < BELIEVED_SECONDS)

    def _is_connected(self) -> bool:
        return self._transport is not None and bool(self._transport.is_active())

    def connect(self) -> None:
        """One thread connects, the others wait for what comes of it. Raises Unreachable, as it was a moment ago as well."""
        with self._connecting:
            if self._is_connected():
                return  # not one of those that connect
            if self._lost is not None and self._monotonic() - self._lost[0] < BELIEVED_SECONDS:
                raise self._lost[1]
            try:
                with self._connects:
                    self._transport = self._inner.transport()
            except Unreachable as error:
                self._lost = (self._monotonic(), error)
                raise
            self._lost = None

    def _judged(self, run: Callable[[], Completed]) -> Completed:
        transport = self._transport
        try:
            done = run()
        except HostTimedOut:  # slow, but maybe there
            raise
        except HostCommandFailed:
            self._answered_at = self._monotonic()
            raise
        except Unreachable:
            self._without_way += 1
            if self._without_way >= DEAD_AFTER and transport is not None:
                transport.close()  # the next one connects anew
                self._without_way = 0
            raise
        self._without_way, self._answered_at = 0, self._monotonic()
        return done

    def check_answers(self) -> None:
        """For whoever waits for news and asks nothing itself. Raises Unreachable if nothing was answered for long."""
        silent = self._monotonic() - self._answered_at
        if silent > SILENT_SECONDS:
            raise Unreachable(f"{self.host}: no answer for {silent:.0f} s")

    def close(self) -> None:
        """For good."""
        self._inner.close()


class RemoteHttp:
    """HTTP to the host's loopback over the same connection."""

    def __init__(self, inner: Http, shell: RemoteShell) -> None:
        self._inner = inner
        self._shell = shell

    def request(self, request: HttpRequest) -> HttpResponse:
        """Raises Unreachable, TimeoutError."""
        self._shell.connect()
        return self._inner.request(request)
