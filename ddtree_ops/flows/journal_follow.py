"""Following a unit's journal: after a lost connection it is taken up where it was, so that no line is lost or read twice."""

from __future__ import annotations

import threading
from collections.abc import Callable

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.flows.retrying import Outage, retrying
from ddtree_ops.ports import Clock, Shell, Stream
from ddtree_ops.triage import journal
from ddtree_ops.triage.entry import JournalEntry

RECONNECT_SECONDS = 1.0


class JournalFollow:
    """`run` in a thread of its own puts entries, and the error that ends it; `close` ends it from another thread."""

    def __init__(self, shell: Shell, clock: Clock, unit: str, put: Callable[[JournalEntry | Exception], None]) -> None:
        self._shell, self._clock, self._unit, self._put = shell, clock, unit, put
        self._stop = threading.Event()
        self._stream: Stream | None = None
        self._newest: JournalEntry | None = None

    def start(self, argv: tuple[str, ...]) -> None:
        """`argv` is the first journal command."""
        threading.Thread(target=self._run, args=(argv,), daemon=True).start()

    def close(self) -> None:
        """End it; a read that waits returns."""
        self._stop.set()
        if self._stream is not None:
            self._stream.close()

    def _run(self, argv: tuple[str, ...]) -> None:
        outage = Outage(self._clock)
        retrying(lambda: self._once(argv, outage), RECONNECT_SECONDS, outage, self._stop, self._put)

    def _once(self, argv: tuple[str, ...], outage: Outage) -> None:
        newest = self._newest
        try:
            self._read(journal.follow(self._unit, newest.cursor, kernel=True) if newest else argv, outage)
        except HostCommandFailed:
            if newest is None or newest.realtime_us is None:
                raise
            # A journal kept in memory has lost the cursor with the reboot: go on by time.
            since = f"--since=@{newest.realtime_us / 1e6:.6f}"
            self._read((*journal.follow(self._unit, None, kernel=True), since), outage)

    def _read(self, argv: tuple[str, ...], outage: Outage) -> None:
        with self._shell.stream(argv) as stream:
            self._stream = stream
            if self._stop.is_set():
                return
            for entry in journal.read_export(stream.chunks()):
                outage.over()
                self._newest = entry
                self._put(entry)
