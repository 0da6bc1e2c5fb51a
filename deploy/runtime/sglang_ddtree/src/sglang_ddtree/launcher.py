"""The unit's main process: `python -m sglang_ddtree.launcher --release DIR`.

Starts SGLang, tells systemd how far it is (STATUS=), that it may take longer (EXTEND_TIMEOUT_USEC=), that it is ready
(READY=1, after a real generation), and by the exit code how it ended (exit_codes.py).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from . import boots
from .credentials import read_credential, read_secrets
from .ending import Ending
from .environment import server_environment
from .eta import Boot, Outcome
from .events import Events, StopRequested
from .exit_codes import ExitCode
from .gpu_memory import GpuMemory
from .journal_follow import JournalFollower
from .listening import PortUnusable, check_free
from .loading import LoadWatch
from .notify import Notifier, one_line
from .pace import Pace
from .probe import Endpoint, Prober
from .server_config import FILE_NAME, ConfigError, ServerConfig, load
from .server_process import ServerProcess, serve_command
from .supervise import Supervisor


def main(argv: Sequence[str] | None = None, pace: Pace | None = None) -> int:
    """Supervise one server from start to end. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="sglang_ddtree.launcher", description="Run SGLang under systemd.")
    parser.add_argument("--release", required=True, type=Path, help="release directory, or a link to it")
    release = parser.parse_args(argv).release
    notifier = Notifier.from_environment()
    try:
        # resolved once: a switch of the link can't mix two releases in one server
        release = release.resolve(strict=True)
        config = load(release / FILE_NAME)
        launch = Launch(release, config, notifier, pace or Pace())
    except OSError as error:
        return _refuse(notifier, f"{release}: {error.strerror}")
    except ConfigError as error:
        return _refuse(notifier, str(error))
    return launch.run()


def _refuse(notifier: Notifier, reason: str) -> int:
    words = f"refused: {reason}"
    notifier.status(words)
    _say(f"{words} (exit {int(ExitCode.REFUSED)})")
    return ExitCode.REFUSED


class Launch:
    """One start: the parts wired together, its time, and its boot record."""

    def __init__(self, release: Path, config: ServerConfig, notifier: Notifier, pace: Pace) -> None:
        read_secrets(config)  # all of them: one that can't be is refused now, not by the server
        key = config.api_key_credential
        self._endpoint = Endpoint(config.listen, config.port, read_credential(key) if key else None)
        self._release = release
        self._config = config
        self._notifier = notifier
        self._pace = pace
        self._events = Events()
        self._started_at = datetime.now(UTC)
        self._history = boots.history_file(config.port, os.environ)
        self._watch = LoadWatch(config, boots.read(self._history), time.monotonic())
        self._recorded = False

    def run(self) -> int:
        """Start the server, supervise it, clean up. Returns the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda caught, _frame: self._events.put(StopRequested(caught)))
        try:
            check_free(self._config.listen, self._config.port)
        except PortUnusable as reason:
            return self._end(Ending(ExitCode.CRASHED, Outcome.CRASHED, f"crashed: {reason}"))
        environment = server_environment(self._config, self._release)
        try:
            server = ServerProcess(serve_command(self._release), environment, self._events)
        except OSError as error:
            return _refuse(self._notifier, f"{serve_command(self._release)[0]}: {error.strerror}")
        follower = JournalFollower(os.environ.get("INVOCATION_ID", ""), self._events)
        prober = Prober(self._endpoint, self._config.probe, self._events, self._pace.probe_pause_s)
        gpu = GpuMemory()
        if os.environ.get("INVOCATION_ID"):
            follower.start()
        prober.start()
        try:
            ending = self._supervisor(server, gpu).run()
        finally:
            server.kill()
            for part in (prober, follower, gpu):
                part.close()
        return self._end(ending)

    def _supervisor(self, server: ServerProcess, gpu: GpuMemory) -> Supervisor:
        return Supervisor(
            server,
            self._watch,
            self._notifier,
            self._events,
            drain_s=self._config.drain_s,
            pace=self._pace,
            port=self._config.port,
            on_ready=self._ready,
            gpu=gpu,
        )

    def _ready(self, now: float) -> None:
        self._record(Outcome.READY, now)
        _say(f"ready after {now - self._watch.started:.0f} s")

    def _end(self, ending: Ending) -> int:
        self._notifier.status(ending.status)
        _say(f"{ending.status} (exit {int(ending.code)})")
        if not self._recorded:
            self._record(ending.outcome, time.monotonic())
        return ending.code

    def _record(self, outcome: Outcome, now: float) -> None:
        self._recorded = True
        if self._history is None:
            return
        boot = Boot(
            release=self._config.release,
            invocation=os.environ.get("INVOCATION_ID", ""),
            started=self._started_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            outcome=outcome,
            seconds=round(now - self._watch.started, 3),
            segments=self._watch.tracker.closed(now),
            memory=self._watch.memory.found,
        )
        try:
            boots.append(self._history, boot)
        except OSError as error:
            _say(f"no boot record: {error}")


def _say(text: str) -> None:
    print(f"ddtree launcher: {one_line(text)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
