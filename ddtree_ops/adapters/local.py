"""The command line of the machine that we run on: the same seam as SSH, without a connection."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ddtree_ops.adapters.endings import bounded, judged
from ddtree_ops.adapters.local_process import Exchange, exit_status, start, stop
from ddtree_ops.adapters.output import whole
from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.ports import Command, Completed, Stream

# As a shell says it (POSIX.1-2017, Shell Command Language, 2.8.2).
_NOT_FOUND = 127
_NOT_EXECUTABLE = 126


class LocalShell:
    """Runs programs as the user that we are. `host` is the name for messages; `most_bytes` bounds what any command may print."""

    def __init__(self, host: str | None = None, most_bytes: int = 8 << 20) -> None:
        self._host = host or os.uname().nodename
        self._most_bytes = most_bytes

    @property
    def host(self) -> str:
        return self._host

    def run(self, command: Command) -> Completed:
        """Raises HostTimedOut, HostCommandFailed, also for a program that isn't there."""
        begin = time.monotonic()
        deadline = begin + command.timeout
        try:
            process = start(command.argv, subprocess.DEVNULL)
        except OSError as error:
            code = _NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE
            return judged(self.host, Completed(command, code, "", f"{command.argv[0]}: {error.strerror}", 0.0))
        exchange = Exchange(process)
        most = min(command.most_bytes, self._most_bytes)
        try:
            with bounded(self.host, command, most):
                stdout = whole(exchange.pieces(deadline), most)
                code = exit_status(process, deadline)
        finally:
            exchange.close()
            stop(process)
        seconds = time.monotonic() - begin
        return judged(self.host, Completed(command, code, stdout.decode("utf-8", "replace"), exchange.said(), seconds))

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        """Raises HostCommandFailed for a program that can't be started; chunks() for one that ends badly."""
        from ddtree_ops.adapters.local_stream import LocalStream

        try:
            process = start(argv, subprocess.PIPE)
        except OSError as error:
            raise HostCommandFailed(f"{self.host}: {argv[0]}: {error.strerror}") from error
        stream = LocalStream(self.host, argv, process)
        try:
            yield stream
        finally:
            stream.end()
