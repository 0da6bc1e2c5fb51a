"""Watching a journal for signs that something is worth a pass, as cheaply as bytes can be watched.

The exporter follows for as long as it lives, so nothing is decoded here: one regular expression over what journalctl prints.
A sign that means nothing costs a pass that finds nothing; a failure without any sign is found by the next regular pass.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.ports import Shell, Stream

AGAIN_SECONDS = 5.0
#: Bytes are taken in at most so often; a chatty server then wakes the exporter ten times a second, not a thousand.
BREATH_SECONDS = 0.1
_TAIL = 64  # bytes that are looked at again with what follows: a sign may be cut


class Sign(IntEnum):
    """How soon a pass is due."""

    NONE = 0
    SOON = 1  # a traceback may be one request's, a start needs nobody's attention
    NOW = 2  # something died


#: units/crash_signs.py has SGLang's own; the manager's words are systemd's (src/core/service.c), and "Fatal" CPython's.
_NOW = (
    rb"hit an exception: |SIGQUIT received\. |Received sigquit from a child|: Main process exited, |: Failed with result |"
    rb"Fatal Python error: |ddtree launcher: (?:crashed|stalled|refused): |: A process of this unit has been killed by the OOM"
)
_SOON = rb"Traceback \(most recent call last\)|: Scheduled restart job|^Start(?:ing|ed) |^Stopp(?:ing|ed) "
UNIT_SIGNS = re.compile(rb"(" + _NOW + rb")|" + _SOON, re.MULTILINE)
#: --merge: else --follow asks for this boot's entries alone (journalctl.c), and in a container ProtectKernelTunables= hides the
#: boot's id that journald knows.
_FOLLOW = ("journalctl", "--quiet", "--no-pager", "--follow", "--merge", "--lines=0", "--output=cat")
#: The driver's Xids and the OOM killer.
KERNEL_SIGNS = re.compile(rb"(SXid|NVRM: Xid|off the bus|Killed process|oom-kill:)")


def unit_command(unit: str) -> tuple[str, ...]:
    """What a unit's journal says from now on, messages only (journalctl(1))."""
    return (*_FOLLOW, f"--unit={unit}")


def kernel_command() -> tuple[str, ...]:
    """The kernel's lines from now on."""
    return (*_FOLLOW, "_TRANSPORT=kernel")


#: Journals that are followed at a time, each in a thread of its own; of more hosts than that the rest is only read now and then.
MOST_FOLLOWED = 64
_PLACES = threading.BoundedSemaphore(MOST_FOLLOWED)
CLOSE_SECONDS = 2.0  # a command that takes longer to end is left to its pipe


class Scanner:
    """Tells of each piece of bytes the strongest sign in it."""

    def __init__(self, signs: re.Pattern[bytes]) -> None:
        self._signs = signs
        self._tail = b""

    def take(self, piece: bytes) -> Sign:
        """A piece as it came; signs over the border of two are seen."""
        data = self._tail + piece
        self._tail = data[-_TAIL:]
        sign = Sign.NONE
        for found in self._signs.finditer(data):
            if found.end() <= len(data) - len(piece):
                continue  # of the piece before
            if found[1]:
                return Sign.NOW
            sign = Sign.SOON
        return sign


class Follower:
    """A thread that follows, and calls `on_sign`; a journal that can't be followed is tried again."""

    def __init__(
        self, shell: Shell, argv: tuple[str, ...], signs: re.Pattern[bytes], on_sign: Callable[[Sign], None], name: str
    ) -> None:
        self._shell, self._argv, self._signs, self._on_sign = shell, argv, signs, on_sign
        self._closed = threading.Event()
        self._started = False
        self._stream: Stream | None = None
        self._thread = threading.Thread(target=self._run, name=f"follow-{name}", daemon=True)

    def start(self) -> bool:
        """Follow, if it doesn't yet. False: so many journals are followed that this one can't be now."""
        if not self._started and not self._closed.is_set() and _PLACES.acquire(blocking=False):
            self._started = True
            self._thread.start()
        return self._started

    def close(self) -> None:
        """End it, and the command."""
        self._closed.set()
        stream = self._stream
        if stream is not None:
            stream.close()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            self._follow_on()
        finally:
            _PLACES.release()

    def _follow_on(self) -> None:
        while not self._closed.is_set():
            with suppress(DdtreeOpsError, OSError):  # the passes meet the same journal, and say why it can't be read
                self._follow()
            if self._closed.wait(AGAIN_SECONDS):
                return
            self._on_sign(Sign.SOON)  # what came meanwhile wasn't seen

    def _follow(self) -> None:
        scanner = Scanner(self._signs)
        with self._shell.stream(self._argv) as stream:
            self._stream = stream
            if self._closed.is_set():
                return
            for piece in stream.chunks():
                sign = scanner.take(piece)
                if sign is not Sign.NONE:
                    self._on_sign(sign)
                if self._closed.wait(BREATH_SECONDS):
                    return
