"""So many programs at once over one SSH connection, and no more: what sshd refuses would look like a lost host.

sshd allows ten sessions on a connection unless told otherwise (sshd_config(5), MaxSessions; forwarded ports don't count). It
counts one until its program has ended (session.c), a moment longer than we do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

AT_ONCE = 8
# Of them, for those that live long: commands always have the rest.
STREAMS_AT_ONCE = 6
AGAIN_SECONDS = 0.2

T = TypeVar("T")


class Sessions:
    """The places for programs over one connection."""

    def __init__(self) -> None:
        self._all = threading.BoundedSemaphore(AT_ONCE)
        self._streams = threading.BoundedSemaphore(STREAMS_AT_ONCE)

    @contextmanager
    def for_command(self, deadline: float) -> Iterator[None]:
        """A place, when it is its turn. Raises TimeoutError at the deadline (monotonic)."""
        with _place(self._all, deadline):
            yield

    @contextmanager
    def for_stream(self, deadline: float) -> Iterator[None]:
        """The same for a program that may run for as long as we do."""
        with _place(self._streams, deadline), _place(self._all, deadline):
            yield


class RefusedError(Exception):
    """sshd opens no session now; the text is why."""


def patiently(open_one: Callable[[], T], deadline: float) -> T:
    """What `open_one` opens; asked again while sshd, which may allow fewer or count one that just ended, refuses.

    Raises RefusedError at the deadline (monotonic), and what else `open_one` raises.
    """
    from paramiko import SSHException

    while True:
        try:
            return open_one()
        except SSHException as error:
            if not _is_refusal(error):
                raise
            if time.monotonic() + AGAIN_SECONDS >= deadline:
                raise RefusedError(str(error)) from error
        time.sleep(AGAIN_SECONDS)


def _is_refusal(error: Exception) -> bool:
    from paramiko import ChannelException

    # Where two are refused at once, paramiko gives the reason to one of them (Transport.get_exception).
    return isinstance(error, ChannelException) or str(error) == "Unable to open channel."


@contextmanager
def _place(places: threading.BoundedSemaphore, deadline: float) -> Iterator[None]:
    if not places.acquire(timeout=max(0.0, deadline - time.monotonic())):
        raise TimeoutError("no place among the sessions of the connection")
    try:
        yield
    finally:
        places.release()
