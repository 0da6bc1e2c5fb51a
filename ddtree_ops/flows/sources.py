"""The three sources of readiness news, each a thread that puts into one queue and survives a lost connection for a while."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ddtree_ops.errors import DdtreeOpsError, HostCommandFailed, Unreachable
from ddtree_ops.flows.look import unit_state
from ddtree_ops.ports import Clock, Http, HttpRequest, Shell
from ddtree_ops.triage import journal
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.units import smoke
from ddtree_ops.units.systemctl import UnitState

UNIT_POLL_SECONDS = 0.5
HTTP_POLL_SECONDS = 1.0
# A connection that is lost for longer ends the wait; a reboot of a host is back sooner.
LOST_AFTER_SECONDS = 90.0
RECONNECT_SECONDS = 1.0
# SGLang's own /health_generate gives up after 20 s; a probe must outlast that to tell slow from dead.
PROBE_TIMEOUT_SECONDS = 25.0


@dataclass(frozen=True)
class Answered:
    """A real generation came back right."""


Source = JournalEntry | UnitState | Answered | DdtreeOpsError


class Sources:
    """Starts the threads on entering and ends them on leaving; `get` hands over what came."""

    def __init__(self, shell: Shell, http: Http, clock: Clock, unit: str, port: int, bearer: str | None) -> None:
        self._shell = shell
        self._http = http
        self._clock = clock
        self._unit = unit
        self._port = port
        self._bearer = bearer
        self._queue: queue.Queue[Source] = queue.Queue()
        self._stop = threading.Event()
        self._probing = threading.Event()
        self._threads: list[threading.Thread] = []
        self._close_stream: Callable[[], None] = lambda: None

    def start(self, argv: tuple[str, ...], resume: Callable[[str], tuple[str, ...]]) -> None:
        """`argv` is the first journal command; `resume(cursor)` the one after a lost connection."""
        for target, args in ((self._follow, (argv, resume)), (self._poll, ()), (self._probe, ())):
            thread = threading.Thread(target=target, args=args, daemon=True)
            thread.start()
            self._threads.append(thread)

    def allow_probes(self) -> None:
        """The new invocation runs: from now on an answer over HTTP is its own."""
        self._probing.set()

    def get(self, timeout: float) -> Source | None:
        try:
            return self._queue.get(timeout=max(0.0, timeout))
        except queue.Empty:
            return None

    def close(self) -> None:
        self._stop.set()
        self._probing.set()
        self._close_stream()

    def _follow(self, argv: tuple[str, ...], resume: Callable[[str], tuple[str, ...]]) -> None:
        cursor: list[str] = []

        def follow(command: tuple[str, ...]) -> None:
            with self._shell.stream(command) as stream:
                self._close_stream = stream.close
                for entry in journal.read_export(stream.chunks()):
                    if entry.cursor:
                        cursor[:] = [entry.cursor]
                    self._queue.put(entry)

        def once() -> None:
            try:
                follow(resume(cursor[0]) if cursor else argv)
            except HostCommandFailed:
                if not cursor:
                    raise
                # A journal kept in memory has lost the cursor with the reboot: everything of this boot is new.
                follow((*journal.follow(self._unit, None), "--boot"))

        self._retrying(once)

    def _poll(self) -> None:
        def once() -> None:
            self._queue.put(unit_state(self._shell, self._unit))

        self._retrying(once, UNIT_POLL_SECONDS)

    def _probe(self) -> None:
        def once() -> None:
            try:
                health = self._http.request(HttpRequest(self._port, "/health", timeout=PROBE_TIMEOUT_SECONDS))
                if health.status == 200 and self._generation_is_right():
                    self._queue.put(Answered())
            except TimeoutError:
                return  # slow isn't dead: the next probe asks again

        self._probing.wait()
        self._retrying(once, HTTP_POLL_SECONDS)

    def _generation_is_right(self) -> bool:
        canary = smoke.DEFAULT_CANARIES[0]
        request = smoke.request(canary, self._port, PROBE_TIMEOUT_SECONDS, self._bearer)
        return smoke.judge(canary, self._http.request(request)).ok

    def _retrying(self, once: Callable[[], None], pause: float = RECONNECT_SECONDS) -> None:
        good = self._clock.monotonic()
        while not self._stop.is_set():
            try:
                once()
                good = self._clock.monotonic()
            except Unreachable as error:
                if self._clock.monotonic() - good > LOST_AFTER_SECONDS:
                    self._queue.put(error)
                    return
            except DdtreeOpsError as error:
                self._queue.put(error)
                return
            self._stop.wait(pause)
