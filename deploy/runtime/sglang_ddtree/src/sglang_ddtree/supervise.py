"""The launcher's main loop: one queue of events, one look at the processes now and then."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from queue import Empty

from .crash_signs import CrashWatch
from .ending import Ending, after_exit
from .eta import Outcome
from .events import Event, Events, Garbled, Generated, JournalLine, ServerExited, StopRequested
from .exit_codes import ExitCode
from .gpu_memory import GpuMemory
from .listening import is_foreign, taken_text
from .loading import LoadWatch
from .notify import Notifier
from .pace import Pace
from .progress import Sample
from .server_process import ServerProcess


class Supervisor:
    """Supervises one server until it has ended. `run` returns how; killing and recording are the caller's."""

    def __init__(
        self,
        server: ServerProcess,
        watch: LoadWatch,
        notifier: Notifier,
        events: Events,
        *,
        port: int,
        drain_s: float,
        pace: Pace,
        on_ready: Callable[[float], None],
        gpu: GpuMemory,
    ) -> None:
        self._server = server
        self._watch = watch
        self._notifier = notifier
        self._events = events
        self._port = port
        self._drain_s = drain_s
        self._pace = pace
        self._on_ready = on_ready
        self._gpu = gpu
        self._crash = CrashWatch()
        self._crash_seen: float | None = None
        self._ready = False
        self._told_ready = False
        self._stop_by: float | None = None
        self._next_look = 0.0
        self._last_line = ""

    def run(self) -> Ending:
        """Take events until the server has ended, or has to be ended."""
        while True:
            event = self._next_event(self._pace.look_every_s)
            ending = self._take(event) if event is not None else None
            ending = ending or self._check(time.monotonic())
            if ending is not None:
                return ending

    def _next_event(self, timeout_s: float) -> Event | None:
        try:
            return self._events.get(timeout=timeout_s)
        except Empty:
            return None

    def _take(self, event: Event) -> Ending | None:
        match event:
            case JournalLine():
                self._read(event)
            case Generated() if self._stop_by is None and self._crash_seen is None:
                if is_foreign(self._port, self._server.processes()):
                    return Ending(ExitCode.CRASHED, Outcome.CRASHED, f"crashed: {taken_text(self._port)}")
                self._ready = True
                self._on_ready(time.monotonic())
                self._next_look = 0.0  # READY=1 at once
            case Garbled(reason) if self._stop_by is None and self._crash_seen is None:
                return Ending(ExitCode.CRASHED, Outcome.CRASHED, f"crashed: {reason}")
            case StopRequested() if self._crash_seen is not None:
                return self._crashed()  # it had crashed before anybody asked: no clean end to be told, and nothing to drain
            case StopRequested() if self._stop_by is None:
                self._stop_by = time.monotonic() + self._drain_s + self._pace.drain_margin_s
                self._notifier.stopping("draining")
                self._server.stop()
            case ServerExited(returncode):
                return self._after_exit(returncode)
        return None

    def _read(self, line: JournalLine) -> None:
        if line.pid in (os.getpid(), 1):  # our own words and systemd's are no news of the server
            return
        if not self._ready and self._watch.journal(line) and self._stop_by is None:
            self._notifier.status(self._watch.status(time.monotonic()))
        if line.pid == self._server.pid and line.message[:1].strip():
            self._last_line = line.message
        self._crash.feed(line.pid, line.message, line.at)
        if self._crash.at is not None and self._crash_seen is None:
            self._crash_seen = time.monotonic()

    def _check(self, now: float) -> Ending | None:
        if self._stop_by is not None:
            late = now >= self._stop_by
            return Ending(ExitCode.STOPPED, Outcome.STOPPED, "stopped: drain time is over") if late else None
        if self._crash_seen is not None:
            return self._crashed() if now >= self._crash_seen + self._pace.crash_grace_s else None
        if self._told_ready or now < self._next_look:
            return None
        self._next_look = now + self._pace.look_every_s
        if self._ready:
            self._tell_ready()
            return None
        return self._look(now)

    def _tell_ready(self) -> None:
        """Until systemd has taken it, each look says it again: a lost READY=1 would let the start time out."""
        self._told_ready = self._notifier.ready("ready")
        if not self._told_ready:
            print("ddtree launcher: systemd is busy; READY=1 will be sent again", file=sys.stderr, flush=True)

    def _look(self, now: float) -> Ending | None:
        self._watch.look(Sample(now, self._server.processes(), self._gpu.sample()))
        ending = self._watch.verdict(now)
        if ending is not None:
            return ending
        extension = self._watch.extension(now)
        if extension is not None:
            self._notifier.extend_timeout(extension)
        self._notifier.status(self._watch.status(now))
        return None

    def _after_exit(self, returncode: int) -> Ending:
        if self._stop_by is not None:
            return Ending(ExitCode.STOPPED, Outcome.STOPPED, "stopped")
        settled = time.monotonic() + self._pace.settle_s
        while (left := settled - time.monotonic()) > 0:
            event = self._next_event(left)
            if isinstance(event, JournalLine):
                self._read(event)
            elif isinstance(event, StopRequested) and self._crash_seen is None:
                return Ending(ExitCode.STOPPED, Outcome.STOPPED, "stopped")
        ranks_began = self._ready or self._watch.ranks_began
        return after_exit(returncode, ranks_began=ranks_began, crash=self._crash.reason, last_line=self._last_line)

    def _crashed(self) -> Ending:
        return Ending(ExitCode.CRASHED, Outcome.CRASHED, f"crashed: {self._crash.reason}")
