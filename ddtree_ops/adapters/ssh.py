"""One SSH connection to one host: commands, streams and HTTP to the host's loopback all share it.

Host keys are checked strictly: an unknown or changed key ends the connection (fabric's own default would accept it).
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ddtree_ops.adapters.channel_exchange import ChannelExchange
from ddtree_ops.adapters.endings import bounded, ended_with, judged, lost
from ddtree_ops.adapters.output import whole
from ddtree_ops.adapters.sessions import RefusedError, Sessions, patiently
from ddtree_ops.adapters.ssh_connect import connect
from ddtree_ops.errors import DdtreeOpsError, HostTimedOut, Unreachable
from ddtree_ops.ports import Command, Completed, Stream

if TYPE_CHECKING:
    from types import TracebackType

    from ddtree_ops.fleet.inventory import Host

STATUS_SECONDS = 5.0


class SshShell:
    """A lazily opened connection to one host of the inventory; safe to use from several threads."""

    def __init__(self, host: Host, connect_timeout: float = 10.0) -> None:
        self._host = host
        self._connect_timeout = connect_timeout
        self._lock = threading.Lock()
        self._connection: Any = None
        self._closed = False
        self._early: DdtreeOpsError | None = None
        self._sessions = Sessions()

    @property
    def host(self) -> str:
        return self._host.name

    def __enter__(self) -> SshShell:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the connection for good: a thread that still asks for it gets Unreachable, not a new one."""
        with self._lock:
            self._closed = True
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def connect_early(self) -> None:
        """Connect now, from a thread of its own. Whoever asks meanwhile waits for it, and gets its error, once."""
        with self._lock:
            if self._closed or self._connection is not None:
                return
            try:
                self._connection = connect(self._host, self._connect_timeout)
            except DdtreeOpsError as error:
                self._early = error

    def transport(self) -> Any:
        """The live paramiko Transport; connects at first use, and again after a lost connection."""
        with self._lock:
            if self._early is not None:
                error, self._early = self._early, None
                raise error
            if self._closed:
                raise Unreachable(f"{self.host}: the connection was closed")
            if self._connection is not None and not self._connection.transport.is_active():
                self._connection.close()
                self._connection = None
            if self._connection is None:
                self._connection = connect(self._host, self._connect_timeout)
            return self._connection.transport

    def channel(self, open_on: Callable[[Any], Any]) -> Any:
        """`open_on(transport)`; on a new connection if the one we have turns out to be dead: nothing was asked over it yet."""
        transport = self.transport()
        try:
            return open_on(transport)
        except (OSError, EOFError, _ssh_exception()):
            if transport.is_active():
                raise
            return open_on(self.transport())

    def run(self, command: Command) -> Completed:
        start = time.monotonic()
        deadline = start + command.timeout
        with bounded(self.host, command, command.most_bytes), self._sessions.for_command(deadline):
            channel = self._open(self._privileged(command.argv), deadline)
            exchange = ChannelExchange(channel)
            try:
                stdout = whole(exchange.pieces(deadline), command.most_bytes).decode("utf-8", "replace")
                status = _exit_status(channel, deadline)
            finally:
                _close(channel)
        if status == -1:  # paramiko's value when the channel closed without an exit status
            raise lost(self.host)
        return judged(self.host, Completed(command, status, stdout, exchange.said(), time.monotonic() - start))

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        deadline = time.monotonic() + self._connect_timeout
        with ExitStack() as place:
            try:
                place.enter_context(self._sessions.for_stream(deadline))
            except TimeoutError as error:
                text = f"{self.host}: too many programs are followed over one connection for one more: {argv[0]}"
                raise HostTimedOut(text) from error
            stream = _ChannelStream(self.host, argv, self._open(self._privileged(argv), deadline))
            try:
                yield stream
            finally:
                stream.close()

    def _privileged(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        return ("sudo", "-n", "--", *argv) if self._host.connection.become else argv

    def _open(self, argv: tuple[str, ...], deadline: float) -> Any:
        import paramiko

        def open_session() -> Any:
            return self.channel(lambda transport: transport.open_session(timeout=self._connect_timeout))

        try:
            channel = patiently(open_session, deadline)
            channel.settimeout(self._connect_timeout)
            channel.exec_command(shlex.join(argv))
        except RefusedError as error:
            text = f"{self.host}: sshd opens no session for `{argv[0]}` over this connection: {error}"
            raise HostTimedOut(text, hint="MaxSessions in its sshd_config; 10 are enough") from error
        except (paramiko.SSHException, OSError, EOFError) as error:
            raise lost(self.host, error) from error
        return channel


def _ssh_exception() -> type[Exception]:
    from paramiko import SSHException

    return SSHException


class _ChannelStream:
    """Output of a running command; close() ends it from any thread."""

    def __init__(self, host: str, argv: tuple[str, ...], channel: Any) -> None:
        self._host = host
        self._argv = argv
        self._channel = channel
        self._exchange = ChannelExchange(channel)
        self._closed = threading.Event()

    def chunks(self) -> Iterator[bytes]:
        self._channel.settimeout(None)
        yield from self._exchange.pieces(None)
        self._check_end()

    def send(self, data: bytes) -> None:
        try:
            self._channel.sendall(data)
        except (OSError, EOFError) as error:
            raise lost(self._host, error) from error

    def close(self) -> None:
        self._closed.set()
        _close(self._channel)

    def _check_end(self) -> None:
        """The output ended: because we closed it, because the program ended well, or because something is wrong."""
        if self._closed.is_set():
            return
        # The exit status is a message of its own that follows the end of the output; -1 means that none came.
        self._channel.status_event.wait(STATUS_SECONDS)
        status = self._channel.exit_status
        if status == -1:
            raise lost(self._host)
        if status != 0:
            raise ended_with(self._host, self._argv, status, self._exchange.said())


def _close(channel: Any) -> None:
    """A lost connection makes paramiko raise here as well, which must not take the place of the real error."""
    with suppress(OSError, EOFError):
        channel.close()


def _exit_status(channel: Any, deadline: float) -> int:
    if not channel.status_event.wait(max(0.0, deadline - time.monotonic())):
        raise TimeoutError
    return int(channel.recv_exit_status())
