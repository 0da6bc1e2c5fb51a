"""A connection to a host that can be slow, refused, cut or mute: what an SSH connection does, without a host."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

from ddtree_ops.errors import Unreachable
from ddtree_ops.exporter.remote import RemoteShell
from ddtree_ops.ports import Command, Completed, Stream

LIST = Command(("true",), timeout=0.3)


class Transport:
    """As paramiko's: it is active until the connection is lost."""

    def __init__(self) -> None:
        self.active = True

    def is_active(self) -> bool:
        return self.active

    def close(self) -> None:
        self.active = False


class Line:
    """A connection that can be cut; `connects` counts how often it was opened."""

    host = "ct200"

    def __init__(self, *, reachable: bool = True, slow: float = 0.0) -> None:
        self.reachable, self.slow, self.connects = reachable, slow, 0
        self.current: Transport | None = None
        self.closed = self.mute = False

    def transport(self) -> Transport:
        if self.current is None or not self.current.active:
            self.connects += 1
            time.sleep(self.slow)
            if not self.reachable or self.closed:
                raise Unreachable("ct200: no way")
            self.current = Transport()
        return self.current

    def cut(self) -> None:
        assert self.current is not None
        self.current.active = False

    def run(self, command: Command) -> Completed:
        self.transport()
        if self.mute:
            raise Unreachable("ct200: Timeout opening channel")
        return Completed(command, 0, "", "", 0.0)

    def stream(self, argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        raise AssertionError(argv)

    def close(self) -> None:
        self.closed = True


def shell(line: Line, monotonic: Callable[[], float] = time.monotonic) -> RemoteShell:
    return RemoteShell(line, threading.BoundedSemaphore(2), monotonic)
