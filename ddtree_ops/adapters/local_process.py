"""Processes of ours on this machine: started without a shell, read within bounds, ended with all their children."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress

from ddtree_ops.adapters.output import CHUNK, Words

_ENDED_BY_SIGNAL = 128


def start(argv: tuple[str, ...], stdin: int) -> subprocess.Popen[bytes]:
    """In a session of its own, so that stop() reaches its children; messages in English. Raises OSError.

    In `/`: our own directory may be one that our user can't enter (root's home, after runuser), and find, for one, fails there.
    """
    return subprocess.Popen(
        argv,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
        cwd="/",
        env=_environment(),
    )


def _environment() -> dict[str, str]:
    """Ours but for what systemd gave to us alone: systemctl, too, would tell it how it ended (sd_notify(3))."""
    own = {name: value for name, value in os.environ.items() if name not in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")}
    return {**own, "LC_ALL": "C.UTF-8"}


def stop(process: subprocess.Popen[bytes]) -> None:
    """Kill it and what it left behind, if it still runs; its end is awaited."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # in uninterruptible sleep: nothing ends it
            process.wait(1.0)


def exit_status(process: subprocess.Popen[bytes], deadline: float | None = None) -> int:
    """How it ended, as shells say it: 128 + the number for an end by a signal. Raises TimeoutError at the deadline."""
    try:
        code = process.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    return _ENDED_BY_SIGNAL - code if code < 0 else code


class Exchange:
    """Both outputs of a process: standard output is handed over, of standard error the beginning is kept."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._words = Words()
        self._open = selectors.DefaultSelector()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                self._open.register(pipe.fileno(), selectors.EVENT_READ, pipe is process.stdout)

    def pieces(self, deadline: float | None) -> Iterator[bytes]:
        """Standard output as it comes, until both outputs have ended. Raises TimeoutError at the deadline."""
        while self._open.get_map():
            left = None if deadline is None else deadline - time.monotonic()
            events = self._open.select(left) if left is None or left > 0 else []
            if not events:
                raise TimeoutError
            for key, _ in events:
                data = os.read(key.fd, CHUNK)
                if not data:
                    self._open.unregister(key.fd)
                elif key.data:
                    yield data
                else:
                    self._words.keep(data)

    def said(self) -> str:
        """Standard error, as far as it was read and kept."""
        return str(self._words)

    def close(self) -> None:
        self._open.close()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
