"""The host's lock as the controller holds it: a channel to the program `lock.py` of role service, and signs of life through it.

Neither a lost connection nor an end of the program there, by whatever hand, loses the lock: the channel is opened again, and the
host's program knows us by our token. Only somebody else who signed the lock's file since then has taken it: an error at the next
step, which says who.
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
from ddtree_ops.flows.mistake import mistake
from ddtree_ops.ports import Operator, Shell, Stream
from ddtree_ops.report.safe_text import one_line

BEAT_SECONDS = 5.0  # the host gives up after 30 s of silence
ANSWER_SECONDS = 25.0
AGAIN_SECONDS = 1.0
END_SECONDS = 5.0
_LONGEST_FIELD = 300


class HostLock:
    """Use it as `with held(...) as lock`. `token` is what the host's modules ask for."""

    def __init__(self, shell: Shell, operator: Operator, *, force: bool = False) -> None:
        self._shell = shell
        self._operator = operator
        self._force = self._forced = force
        self.token = secrets.token_hex(16)
        self._changed = threading.Condition()
        self._stream: Stream | None = None  # set while we hold it
        self._held = False  # we did, at least once
        self._error: DdtreeOpsError | None = None  # for good
        self._ended = False  # the host has our last word,
        self._recorded = False  # and wrote it down
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

    def end(self, record: Mapping[str, Any]) -> bool:
        """The last word, for the host's audit log; frees the lock. Whether it is there, or that of whoever took the lock from us.

        Never raises: the host notices our end anyway.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._stream is not None or self._error is not None, END_SECONDS)
            stream = self._stream
        if stream is None:
            return isinstance(self._error, Locked)
        with suppress(DdtreeOpsError):
            stream.send(json.dumps(record).encode() + b"\n")
            with self._changed:
                self._changed.wait_for(lambda: self._ended or self._stream is None, END_SECONDS)
        return self._recorded

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
            except HostCommandFailed as error:
                if self._stream is None:  # it never came to hold it; its message would quote the whole program
                    last = one_line(error.message.rsplit(":", 1)[-1])
                    return self._fail(HostCommandFailed(f"{self._shell.host}: the lock can't be taken: {last}"))
            except DdtreeOpsError as error:
                return self._fail(error)
            except Exception as error:  # noqa: BLE001 - or nobody would notice that nothing holds the lock any more
                return self._fail(mistake(self._shell.host, error))
            self._set(None)
            self._closing.wait(AGAIN_SECONDS)
        return None

    def _hold_once(self) -> None:
        wanted = {**asdict(self._operator), "token": self.token, "break": self._force, "again": self._held}
        self._force = False  # once: whoever breaks ours later isn't broken in turn
        program = assets.host_program("lock").read_text(encoding="utf-8")
        with self._shell.stream(("python3", "-I", "-c", program, json.dumps(wanted))) as stream:
            for said in documents(stream):
                self._take(said, stream)
            if self._stream is None and not self._closing.is_set():
                raise HostCommandFailed("it ended without an answer")

    def _take(self, said: Mapping[str, Any], stream: Stream) -> None:
        if said.get("locked") is True:
            self._set(stream)
        elif said.get("locked") is False:
            raise self._locked(_holder(said), _process(said.get("by")), ended=said.get("held") is False)
        elif said.get("ended"):
            with self._changed:
                self._ended, self._recorded = True, said.get("recorded") is True
                self._changed.notify_all()

    def _locked(self, holder: str, process: str, *, ended: bool) -> Locked:
        """Somebody else has it; or had it since we did, and `ended` by now. `holder` and `process` are empty if unknown."""
        host = self._shell.host
        who = holder or (process and f"{process} there, of which the lock's file says nothing")
        if not self._held:
            return Locked(f"{host}: locked by {who or 'nobody that its file names'}", hint=self._way_in(holder, process))
        if not who:
            return Locked(f"{host}: the lock was taken from us: its file was emptied, overwritten or removed")
        return Locked(f"{host}: the lock was taken from us by {who}" + (" (has ended)" if ended else ""))

    def _way_in(self, holder: str, process: str) -> str:
        if holder and not self._forced:
            return "wait until that command has ended, or take the lock from it with --break-lock"
        wait = "--break-lock could not end it" if self._forced else "wait until it has ended"
        return f"{wait}; on {self._shell.host}, " + (f"end {process}" if process else "`lslocks` says which process has it")

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


def _holder(said: Mapping[str, Any]) -> str:
    """`anna@laptop (pid 4711) since 2026-11-30T01:02:03Z: deploy --host ct200`; empty if the lock's file doesn't say it."""
    holder, fields = said.get("holder"), ("user", "controller", "pid", "since", "command")
    if not isinstance(holder, Mapping) or not all(field in holder for field in fields):
        return ""
    user, controller, pid, since, command = (one_line(str(holder[field]), _LONGEST_FIELD) for field in fields)
    return f"{user}@{controller} (pid {pid}) since {since}: {command}"


def _process(by: object) -> str:
    """`process 4711 (python3)`."""
    return f"process {by.get('pid')} ({one_line(str(by.get('name')), _LONGEST_FIELD)})" if isinstance(by, Mapping) else ""


@contextmanager
def held(shell: Shell, operator: Operator, *, force: bool = False) -> Iterator[HostLock]:
    """The lock of a host. `force` takes it from whoever holds it. Raises Locked, Unreachable, HostCommandFailed."""
    lock = HostLock(shell, operator, force=force)
    try:
        lock.open()
        yield lock
    finally:
        lock.close()
