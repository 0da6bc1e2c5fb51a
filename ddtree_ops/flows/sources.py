"""The three sources of readiness news, each a thread that puts into one queue and survives a lost connection for a while."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ddtree_ops.errors import Unreachable
from ddtree_ops.flows.journal_follow import JournalFollow
from ddtree_ops.flows.look import unit_state
from ddtree_ops.flows.retrying import Outage, retrying
from ddtree_ops.ports import Clock, Http, HttpRequest, Shell
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.units import smoke
from ddtree_ops.units.systemctl import UnitState

UNIT_POLL_SECONDS = 0.25
HTTP_POLL_SECONDS = 1.0
# SGLang's own /health_generate gives up after 20 s; a probe must outlast that to tell slow from dead.
PROBE_TIMEOUT_SECONDS = 25.0


@dataclass(frozen=True)
class Answered:
    """A real generation came back right."""


@dataclass(frozen=True)
class Lost:
    """The connection is lost; the unit is asked for again."""


Source = JournalEntry | UnitState | Answered | Lost | Exception


class Sources:
    """Threads that feed one queue: `start` them, `get` what came, `close` at the end."""

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
        self._journal = JournalFollow(shell, clock, unit, self._queue.put)

    def start(self, argv: tuple[str, ...]) -> None:
        """`argv` is the first journal command; after a lost connection the journal is taken up where it was."""
        self._journal.start(argv)
        for target in (self._poll, self._probe):
            threading.Thread(target=target, daemon=True).start()

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
        self._journal.close()

    def _poll(self) -> None:
        def once() -> None:
            try:
                self._queue.put(unit_state(self._shell, self._unit))
            except Unreachable:
                self._queue.put(Lost())
                raise

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

    def _retrying(self, once: Callable[[], None], pause: float) -> None:
        retrying(once, pause, Outage(self._clock), self._stop, self._queue.put)
