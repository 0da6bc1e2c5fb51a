"""The output of a long-running program on this machine."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator

from ddtree_ops.adapters.endings import ended_with
from ddtree_ops.adapters.local_process import Exchange, exit_status, stop
from ddtree_ops.errors import Unreachable


class LocalStream:
    """A running command; close() ends it from any thread, end() is for whoever started it."""

    def __init__(self, host: str, argv: tuple[str, ...], process: subprocess.Popen[bytes]) -> None:
        self._host = host
        self._argv = argv
        self._process = process
        self._exchange = Exchange(process)
        self._closed = threading.Event()

    def chunks(self) -> Iterator[bytes]:
        """Bytes as they come. Raises HostCommandFailed if the program ended badly of its own."""
        yield from self._exchange.pieces(None)
        code = exit_status(self._process)
        if code != 0 and not self._closed.is_set():
            raise ended_with(self._host, self._argv, code, self._exchange.said())

    def send(self, data: bytes) -> None:
        """Raises Unreachable when the command is gone."""
        pipe = self._process.stdin
        rest = memoryview(data)
        try:
            while rest and pipe is not None:
                rest = rest[pipe.write(rest) or 0 :]
        except (OSError, ValueError) as error:
            raise Unreachable(f"{self._host}: `{self._argv[0]}` is gone: {error}") from error

    def close(self) -> None:
        """Kill the program: the outputs end, and so does a chunks() that waits in another thread."""
        self._closed.set()
        stop(self._process)

    def end(self) -> None:
        """close(), and give the pipes back."""
        self.close()
        self._exchange.close()
