"""Programs of the host, started together and each given up after a time: a broken GPU lets even nvidia-smi hang for ever."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass

SECONDS = 15.0
MOST_BYTES = 8 << 20  # `nvidia-smi -q -x` prints 45 KiB for each GPU
NOT_STARTED = 127
GAVE_UP = 124


@dataclass(frozen=True)
class Answer:
    """Exit status and output of a program; 127 and the reason if it can't be started, 124 if it hangs."""

    argv: tuple[str, ...]
    status: int
    out: str

    @property
    def command(self) -> str:
        return " ".join(self.argv)

    def said(self, line: str) -> str:
        """The command with its telling line, as evidence."""
        return f"{self.command}: {' '.join(line.split())}"


class Running:
    """A program that was started; `answer()` waits for its end, at most until `seconds` after the start."""

    def __init__(self, argv: tuple[str, ...], seconds: float = SECONDS) -> None:
        self.argv = argv
        self._deadline = time.monotonic() + seconds
        self._seconds = seconds
        self._parts: list[bytes] = []
        self._problem = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        # Started here: a program on a file system that hangs keeps even its starter waiting.
        try:
            # stderr beside stdout: nvidia-smi itself prints its errors on stdout.
            process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except (OSError, ValueError) as error:
            self._problem = str(error)
            return
        self._process = process
        size = 0
        while process.stdout is not None and size < MOST_BYTES:
            data = process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
            if not data:
                process.wait()
                return
            self._parts.append(data)
            size += len(data)
        process.kill()
        process.wait()

    def answer(self) -> Answer:
        """Waits."""
        self._thread.join(max(0.0, self._deadline - time.monotonic()))
        if self._thread.is_alive():
            if self._process is not None:
                self._process.kill()  # not waited for: inside the driver, not even this may end it
            return Answer(self.argv, GAVE_UP, f"no answer in {self._seconds:.0f} s")
        if self._process is None:
            return Answer(self.argv, NOT_STARTED, self._problem)
        return Answer(self.argv, self._process.returncode, b"".join(self._parts).decode("utf-8", "replace"))
