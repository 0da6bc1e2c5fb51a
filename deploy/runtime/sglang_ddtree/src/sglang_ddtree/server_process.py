"""Starting, stopping and killing SGLang's main process and everything below it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from .events import Events, ServerExited
from .processes import ProcessState, kill_tree, tree_of

LAUNCHER_PID = "SGLANG_DDTREE_LAUNCHER_PID"
_REAP_S = 10.0


class ServerProcess:
    """SGLang's main process, leader of its own process group. Its exit arrives as a ServerExited event."""

    def __init__(self, argv: tuple[str, ...], environment: Mapping[str, str], events: Events) -> None:
        # stdout and stderr are inherited: the journal socket then records each rank's own _PID
        self._process = subprocess.Popen(
            argv,
            env=dict(environment) | {LAUNCHER_PID: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            process_group=0,
        )
        self._events = events
        threading.Thread(target=self._wait, name="server exit", daemon=True).start()

    @property
    def pid(self) -> int:
        """Main's pid, also the number of the process group."""
        return self._process.pid

    def processes(self) -> dict[int, ProcessState]:
        """Main and everything below it that lives."""
        return tree_of(self.pid)

    def stop(self) -> None:
        """Ask main alone to drain and stop: a SIGTERM to a rank would look like a crash to main."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End everything at once; waits a little for main. What hangs in the driver is left to systemd."""
        kill_tree(self.pid)
        try:
            self._process.wait(timeout=_REAP_S)
        except subprocess.TimeoutExpired:
            return

    def _wait(self) -> None:
        self._events.put(ServerExited(self._process.wait()))


def serve_command(release: Path) -> tuple[str, ...]:
    """The argv of the server process: the release's own interpreter, no secrets.

    -P (Python 3.11, also passed on to spawned ranks): nothing is imported from the working directory.
    """
    python = release / "venv" / "bin" / "python"
    return (str(python), "-u", "-P", "-m", "sglang_ddtree.serve", "--release", str(release))
