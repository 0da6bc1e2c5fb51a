"""GPU memory in use, as nvidia-smi tells it, without ever waiting for it.

On a host with a broken GPU nvidia-smi can hang in the driver, where even SIGKILL doesn't reach it: so it is asked in
the background, and not asked again while the last call hasn't come back.
"""

from __future__ import annotations

import subprocess

QUERY = ("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")


class GpuMemory:
    """The sum of all GPUs' used memory in MiB. Ask with `sample`; the answer is that of the call before."""

    def __init__(self, command: tuple[str, ...] = QUERY) -> None:
        self._command = command
        self._running: subprocess.Popen[str] | None = None
        self._missing = False
        self.mib: int | None = None

    def sample(self) -> int | None:
        """Start a query if none runs, and give what is known; None if nvidia-smi never answered."""
        if self._running is not None and self._running.poll() is not None:
            output = self._running.stdout.read() if self._running.stdout else ""
            self.mib = parse_used(output) if self._running.returncode == 0 else self.mib
            self._close()
        if self._running is None and not self._missing:
            self._start()
        return self.mib

    def close(self) -> None:
        """Give up a running query."""
        if self._running is not None:
            self._running.kill()
            self._close()

    def _start(self) -> None:
        try:
            self._running = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        except OSError:
            self._missing = True

    def _close(self) -> None:
        if self._running is not None and self._running.stdout is not None:
            self._running.stdout.close()
        self._running = None


def parse_used(output: str) -> int | None:
    """The sum of the lines `1234`; a GPU that answers `[N/A]` or an error counts nothing. None without any number."""
    numbers = [int(line) for line in map(str.strip, output.splitlines()) if line.isdigit()]
    return sum(numbers) if numbers else None
