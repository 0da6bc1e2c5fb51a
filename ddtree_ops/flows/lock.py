"""The host's lock as the controller holds it: a channel to the program `lock.py` of role service, and signs of life through it.

A lost connection doesn't lose the lock: the channel is opened again, and the host's program knows us by our token. Somebody else
who has it by then is an error at the next step.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from ddtree_ops import assets
from ddtree_ops.errors import DdtreeOpsError, HostCommandFailed, Locked, Unreachable
from ddtree_ops.flows.documents import documents
from ddtree_ops.ports import Command, Operator, Shell, Stream
from ddtree_ops.report.safe_text import one_line

BEAT_SECONDS = 5.0  # the host gives up after 30 s of silence
ANSWER_SECONDS = 25.0
AGAIN_SECONDS = 1.0
END_SECONDS = 5.0
_LONGEST_FIELD = 300
LOCK_FILE = "/var/lib/ddtree/lock"  # role service: lock.py
# Whoever takes it signs within moments: so many looks, so far apart.
SIGNED_LOOKS = 5
SIGNED_SECONDS = 0.2


class HostLock:
    """Use it as `with held(...) as lock`. `token` is what the host's modules ask for."""

    def __init__(self, shell: Shell, operator: Operator, *, force: bool = False) -> None:
        self._shell = shell
        self._operator = operator
        self._force = force
        self.token = secrets.token_hex(16)
        self._changed = threading.Condition()
        self._stream: Stream | None = None  # set while we hold it
        self._held = False  # we did, at least once
        self._error: DdtreeOpsError | None = None  # for good
        self._ended = False  # the host has our last word
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._follow, self._beat)]

    def open(self) -> None:
        """Raises Locked, Unreachable, HostCommandFailed."""
        for thread in self._threads:
            thread.start()
        self.check()

    def check(self) -> None:
        """We still hold it; waits a moment where the connection is just lost. Raises Locked, Unreachable."""
        with self._changed:
            self._changed.wait_for(lambda: self._stream is not None or self._error is not None, ANSWER_SECONDS)
            if self._error is not None:
                raise self._error
            if self._stream is None:
                raise Unreachable(f"{self._shell.host}: the connection that holds the lock was lost", hint="is the host up?")

    def end(self, record: Mapping[str, Any]) -> None:
        """The last word, for the host's audit log; frees the lock. Never raises: the host notices our end anyway."""
        with self._changed:
            stream = self._stream
        if stream is None:
            return
        with suppress(DdtreeOpsError):
            stream.send(json.dumps(record).encode() + b"\n")
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._stream is None, END_SECONDS)

    def close(self) -> None:
        """Free it, if end() hasn't."""
        self._closing.set()
        with self._changed:
            if self._stream is not None:
                self._stream.close()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def _beat(self) -> None:
        while not self._closing.wait(BEAT_SECONDS):
            with self._changed:
                stream = self._stream
            if stream is not None:
                with suppress(DdtreeOpsError):  # _follow notices it as well
                    stream.send(b"\n")

    def _follow(self) -> None:
        """Hold one channel after the other until close(); a lost one is replaced."""
        while not self._closing.is_set():
            try:
                self._hold_once()
            except Unreachable as error:
                if not self._held:
                    return self._fail(error)
            except DdtreeOpsError as error:
                return self._fail(error)
            self._set(None)
            self._closing.wait(AGAIN_SECONDS)
        return None

    def _hold_once(self) -> None:
        wanted = {**asdict(self._operator), "token": self.token, "break": self._force}
        self._force = False  # once: whoever breaks ours later isn't broken in turn
        program = assets.host_program("lock").read_text(encoding="utf-8")
        with self._shell.stream(("python3", "-I", "-c", program, json.dumps(wanted))) as stream:
            try:
                for said in documents(stream):
                    self._take(said, stream)
                if not self._held and not self._closing.is_set():
                    raise HostCommandFailed("it ended without an answer")
            except HostCommandFailed as error:  # its message would quote the whole program
                last = one_line(error.message.rsplit(":", 1)[-1])
                raise HostCommandFailed(f"{self._shell.host}: the lock can't be taken: {last}") from error

    def _take(self, said: Mapping[str, Any], stream: Stream) -> None:
        if said.get("locked") is True:
            self._set(stream)
        elif said.get("locked") is False:
            holder = said.get("holder")
            raise self._locked(holder if isinstance(holder, Mapping) else {})
        elif said.get("lost"):
            self._set(None)
            raise self._taken()
        elif said.get("ended"):
            with self._changed:
                self._ended = True
                self._changed.notify_all()

    def _taken(self) -> Locked:
        """By whom: they sign the file right after they ended our program there."""
        for _ in range(SIGNED_LOOKS):
            with suppress(DdtreeOpsError, ValueError, RecursionError):
                holder = json.loads(self._shell.run(Command(("cat", LOCK_FILE), timeout=END_SECONDS)).stdout)
                if isinstance(holder, dict) and holder.get("token") != self.token:
                    return Locked(f"{self._shell.host}: the lock was taken from us by {_described(holder)}")
            if self._closing.wait(SIGNED_SECONDS):
                break
        return Locked(f"{self._shell.host}: the lock was taken from us")

    def _locked(self, holder: Mapping[str, Any]) -> Locked:
        return Locked(
            f"{self._shell.host}: locked by {_described(holder)}",
            hint="wait until that command has ended, or take the lock from it with --break-lock",
        )

    def _set(self, stream: Stream | None) -> None:
        with self._changed:
            self._stream = stream
            self._held |= stream is not None
            self._changed.notify_all()

    def _fail(self, error: DdtreeOpsError) -> None:
        with self._changed:
            self._stream = None
            self._error = error
            self._changed.notify_all()


def _described(holder: Mapping[str, Any]) -> str:
    """`anna@laptop (pid 4711) since 2026-11-30T01:02:03Z: deploy --host ct200`."""
    user, controller, pid, since, command = (
        one_line(str(holder.get(key, "?")), _LONGEST_FIELD) for key in ("user", "controller", "pid", "since", "command")
    )
    return f"{user}@{controller} (pid {pid}) since {since}: {command}"


@contextmanager
def held(shell: Shell, operator: Operator, *, force: bool = False) -> Iterator[HostLock]:
    """The lock of a host. `force` takes it from whoever holds it. Raises Locked, Unreachable, HostCommandFailed."""
    lock = HostLock(shell, operator, force=force)
    try:
        lock.open()
        yield lock
    finally:
        lock.close()
