"""The three sources of readiness news, each a thread that puts into one queue and survives a lost connection for a while."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from ddtree_ops.errors import HostCommandFailed, Unreachable
from ddtree_ops.flows.look import unit_state
from ddtree_ops.ports import Clock, Http, HttpRequest, Shell, Stream
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


Source = JournalEntry | UnitState | Answered | Exception


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
        self._stream: Stream | None = None
        self._newest: JournalEntry | None = None

    def start(self, argv: tuple[str, ...]) -> None:
        """`argv` is the first journal command; after a lost connection the journal is taken up where it was."""
        for target in (lambda: self._follow(argv), self._poll, self._probe):
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
        if self._stream is not None:
            self._stream.close()

    def _follow(self, argv: tuple[str, ...]) -> None:
        outage = _Outage(self._clock)

        def once() -> None:
            newest = self._newest
            try:
                self._read(journal.follow(self._unit, newest.cursor) if newest else argv, outage)
            except HostCommandFailed:
                if newest is None or newest.realtime_us is None:
                    raise
                # A journal kept in memory has lost the cursor with the reboot: go on by time.
                since = f"--since=@{newest.realtime_us / 1e6:.6f}"
                self._read((*journal.follow(self._unit, None), since), outage)

        self._retrying(once, RECONNECT_SECONDS, outage)

    def _read(self, argv: tuple[str, ...], outage: _Outage) -> None:
        with self._shell.stream(argv) as stream:
            self._stream = stream
            if self._stop.is_set():
                return
            for entry in journal.read_export(stream.chunks()):
                outage.over()
                self._newest = entry
                self._queue.put(entry)

    def _poll(self) -> None:
        def once() -> None:
            self._queue.put(unit_state(self._shell, self._unit))

        self._retrying(once, UNIT_POLL_SECONDS, _Outage(self._clock))

    def _probe(self) -> None:
        def once() -> None:
            try:
                health = self._http.request(HttpRequest(self._port, "/health", timeout=PROBE_TIMEOUT_SECONDS))
                if health.status == 200 and self._generation_is_right():
                    self._queue.put(Answered())
            except TimeoutError:
                return  # slow isn't dead: the next probe asks again

        self._probing.wait()
        self._retrying(once, HTTP_POLL_SECONDS, _Outage(self._clock))

    def _generation_is_right(self) -> bool:
        canary = smoke.DEFAULT_CANARIES[0]
        request = smoke.request(canary, self._port, PROBE_TIMEOUT_SECONDS, self._bearer)
        return smoke.judge(canary, self._http.request(request)).ok

    def _retrying(self, once: Callable[[], None], pause: float, outage: _Outage) -> None:
        while not self._stop.is_set():
            try:
                once()
                outage.over()
            except Unreachable as error:
                if outage.too_long():
                    self._queue.put(error)
                    return
            except Exception as error:  # noqa: BLE001 - the waiting thread raises it; here it would vanish
                self._queue.put(error)
                return
            self._stop.wait(pause)


class _Outage:
    """How long a source has been without its host."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: float | None = None

    def over(self) -> None:
        self._since = None

    def too_long(self) -> bool:
        """Call it at each failure; the first one starts the time."""
        now = self._clock.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since > LOST_AFTER_SECONDS
