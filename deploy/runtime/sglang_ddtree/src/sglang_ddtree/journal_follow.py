"""Following this start's own journal, in a thread.

The match is systemd's invocation id, which is new for each start: reading from the journal's beginning (`--no-tail`)
then costs nothing and loses no first line, which `-n0` or `-u UNIT` would. `--merge`, because `--follow` alone
adds a match for this boot's id, and a service in a container with ProtectProc= sees the outer machine's id.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import BinaryIO, cast

from .events import Events, JournalLine
from .export_format import read_entries

_FIELDS = "MESSAGE,_PID"
_RESTARTS_WITHOUT_A_LINE = 5
_LONGEST_PAUSE_S = 10.0


class JournalFollower:
    """`journalctl -f` kept alive. Without permission to read the journal it gives up, and `heard` stays False."""

    def __init__(self, invocation: str, events: Events, journalctl: tuple[str, ...] = ("journalctl",)) -> None:
        self.heard = False
        self._invocation = invocation
        self._events = events
        self._journalctl = journalctl
        self._cursor: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """End journalctl and the thread."""
        self._closing.set()
        if self._process is not None:
            self._process.kill()
        self._thread.join(timeout=2)

    def command(self) -> tuple[str, ...]:
        """The argv of journalctl: from the beginning of this invocation, or behind the last entry read."""
        position = (f"--after-cursor={self._cursor}",) if self._cursor else ("--no-tail",)
        return (
            *self._journalctl,
            "--output=export",
            f"--output-fields={_FIELDS}",
            "--follow",
            "--merge",
            "--quiet",
            *position,
            f"_SYSTEMD_INVOCATION_ID={self._invocation}",
        )

    def _run(self) -> None:
        fruitless = 0
        while not self._closing.is_set() and fruitless < _RESTARTS_WITHOUT_A_LINE:
            before = self._cursor
            reason = self._follow_once()
            if self._closing.is_set():
                return
            fruitless = 0 if self._cursor != before else fruitless + 1
            _say(f"journalctl ended ({reason}), starting it again")
            self._closing.wait(min(0.2 * 2**fruitless, _LONGEST_PAUSE_S))
        if not self._closing.is_set():
            _say("giving up on the journal: phases stay unknown, readiness comes from HTTP alone")

    def _follow_once(self) -> str:
        try:
            process = subprocess.Popen(self.command(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            return str(error)
        self._process = process
        assert process.stdout is not None and process.stderr is not None
        with process.stdout, process.stderr:
            try:
                self._pass_on(cast(BinaryIO, process.stdout))
            except ValueError as error:
                return str(error)
            finally:
                process.kill()
            complaint = process.stderr.read(2000).decode("utf-8", "replace").strip().splitlines()
        return complaint[-1] if complaint else f"status {process.wait()}"

    def _pass_on(self, stream: BinaryIO) -> None:
        for entry in read_entries(stream):
            self._cursor = entry.get("__CURSOR", b"").decode("ascii", "replace") or self._cursor
            line = journal_line(entry)
            if line is not None:
                self.heard = True
                self._events.put(line)


def journal_line(entry: dict[str, bytes]) -> JournalLine | None:
    """An entry's message, or None for an entry without one."""
    if "MESSAGE" not in entry:
        return None
    pid, stamp = entry.get("_PID", b"0"), entry.get("__MONOTONIC_TIMESTAMP", b"")
    at = int(stamp) / 1e6 if stamp.isdigit() else time.monotonic()
    return JournalLine(int(pid) if pid.isdigit() else 0, entry["MESSAGE"].decode("utf-8", "replace"), at)


def _say(text: str) -> None:
    print(f"ddtree launcher: {text}", file=sys.stderr, flush=True)
