"""Signals of the serving phase: a graceful stop, and what follows when a rank has failed."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import socket
import time
from typing import TYPE_CHECKING

from sglang.simulation.console import log
from sglang.simulation.settings import Settings
from sglang.srt.entrypoints.engine import Engine, exit_code, kill_process_tree

if TYPE_CHECKING:
    from sglang.srt.entrypoints.application import Application

_WATCH_SECONDS = 0.2
_DRAIN_SECONDS = 0.5  # SGLang looks at its requests only now and then


class Lifecycle:
    """The main thread's loop. Both ends are by SIGKILL to the whole tree, this process included."""

    def __init__(self, settings: Settings, engine: Engine, application: Application) -> None:
        self._settings = settings
        self._engine = engine
        self._application = application
        self._signals: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._pids = [*engine.scheduler_pids, engine.detokenizer_pid]

    def install(self) -> None:
        """Take over SIGTERM, SIGINT and SIGQUIT."""
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(signum, self._note)

    def _note(self, signum: int, _frame: object) -> None:
        self._signals.put(signum)

    def wait(self) -> None:
        """Serve until a signal or a dead child ends it; doesn't return."""
        while True:
            try:
                signum = self._signals.get(timeout=_WATCH_SECONDS)
            except queue.Empty:
                self._watch_children()
                continue
            if signum == signal.SIGQUIT:
                self._crash()
            self._drain()

    def _watch_children(self) -> None:
        names = [*(f"scheduler_{rank}" for rank in range(len(self._engine.scheduler_pids))), "detokenizer"]
        for pid, name in zip(self._pids, names, strict=True):
            code = exit_code(pid)
            if code not in (None, 0):
                log(f"Subprocess {name} (pid={pid}) crashed with exit code {code}. Triggering SIGQUIT for cleanup...")
                self._signals.put(signal.SIGQUIT)
                return

    def _drain(self) -> None:
        self._application.tokenizer_manager.gracefully_exit = True
        log("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        slow = self._settings.fault("slow_drain")
        until = time.monotonic() + (slow.amount if slow else _DRAIN_SECONDS)
        while (rids := self._application.tokenizer_manager.remaining_rids) or time.monotonic() < until:
            try:
                if self._signals.get(timeout=0.05) == signal.SIGQUIT:
                    self._crash()
            except queue.Empty:
                continue
        self._application.finish_answers()
        log(f"Gracefully exiting... Remaining number of requests {len(rids)}. Remaining requests remaining_rids={rids}.")
        kill_process_tree(self._pids)

    def _crash(self) -> None:
        self._application.freeze()
        log("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        settle = self._settings.crash_settle_seconds
        log(f"Sleeping {settle:g} seconds before crash diagnostics to let GPU activity settle.")
        time.sleep(settle)
        live = self._engine.live_schedulers()
        if live:
            self._diagnose(live)
        else:
            log("No live scheduler processes found; skipping py-spy and CUDA coredump.")
        kill_process_tree(self._pids)

    def _diagnose(self, live: list[int]) -> None:
        for pid in live:
            if shutil.which("py-spy") is None:
                for option in ("--native", ""):
                    log(f"Pyspy failed (py-spy dump {option} --pid {pid}). Error: /bin/sh: 1: py-spy: not found\n")
                log(f"All pyspy dump attempts failed for PID {pid}.")
        if os.environ.get("SGLANG_CUDA_COREDUMP_BEFORE_CRASH", "1").lower() in ("0", "false"):
            return
        log("CUDA user-triggered coredump is not enabled. Set CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 before CUDA initialization.")
        for pid in live:
            pipe = f"{os.getcwd()}/corepipe.cuda.{socket.gethostname()}.{pid}"  # noqa: PTH109
            log(
                f"CUDA coredump pipe not found for PID {pid}: {pipe}. Ensure CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1 was "
                "set before this process initialized CUDA."
            )
        seconds = self._settings.coredump_seconds
        log(f"Waiting {seconds:.1f} seconds for CUDA coredumps before exiting.")
        time.sleep(seconds)
