"""A `ddtree-ops deploy` that runs beside a test, and tells it by its own progress lines where it is."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT = 900.0
MARK = "DDTREE_FAULT_TEST"
PROGRAM = Path(sys.executable).parent / "ddtree-ops"


@dataclass(frozen=True)
class Ended:
    """How a command ended. `report` is the host's part of its document, or its error document; empty if there is none."""

    code: int
    stdout: str
    stderr: str
    seconds: float

    @property
    def report(self) -> dict[str, Any]:
        try:
            document: dict[str, Any] = json.loads(self.stdout)
        except ValueError:
            return {}
        hosts = document.get("hosts")
        return hosts[0] if hosts else document

    @property
    def message(self) -> str:
        """What it says went wrong, in one line."""
        told = self.report.get("error") if "outcome" in self.report else self.report.get("message")
        return " ".join(str(told or "").split())

    @property
    def everything(self) -> str:
        return self.stdout + self.stderr


class Deploying:
    """The running command."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path, pipe: int, mark: str) -> None:
        self.process = process
        self._folder = folder
        self._pipe = pipe
        self._mark = mark
        self._begun = time.monotonic()
        self._rest = b""
        self.seen: list[dict[str, Any]] = []

    def until(self, good: Callable[[dict[str, Any]], bool], what: str, seconds: float = 240.0) -> dict[str, Any]:
        """Read progress until a line is good; fails the test if the command ends before."""
        deadline = time.monotonic() + seconds
        for line in self._lines(deadline):
            self.seen.append(line)
            if good(line):
                return line
        raise AssertionError(f"never seen: {what}; {self.seen[-5:]}; {self._text('stderr')[-2000:]}")

    def _lines(self, deadline: float) -> Iterator[dict[str, Any]]:
        while time.monotonic() < deadline:
            line, found, rest = self._rest.partition(b"\n")
            if found:
                self._rest = rest
                yield json.loads(line)
                continue
            ready, _, _ = select.select([self._pipe], [], [], 0.1)
            data = os.read(self._pipe, 65536) if ready else b""
            self._rest += data
            if not data and self.process.poll() is not None:
                return

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stop the controller's own process meanwhile, so that a fault strikes in this very step."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def interrupt(self) -> None:
        """Ctrl-C: a terminal sends SIGINT to the whole foreground process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def end(self, timeout: float = TIMEOUT) -> Ended:
        """Wait for the end. Raises subprocess.TimeoutExpired: no deploy may take longer than its deadlines."""
        code = self.process.wait(timeout)
        return Ended(code, self._text("stdout"), self._text("stderr"), time.monotonic() - self._begun)

    def left_running(self) -> list[str]:
        """Processes that it started and that outlive it. OpenSSH's shared connection (ControlPersist) ends by itself."""
        found = [_command_line(pid) for pid in _marked(self._mark) if pid != self.process.pid]
        return [command for command in found if command and "[mux]" not in command]

    def clean(self) -> None:
        """End it and everything that it started."""
        for pid in _marked(self._mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)
        os.close(self._pipe)

    def _text(self, name: str) -> str:
        return (self._folder / name).read_text(errors="replace")


@contextmanager
def deploying(inventory: Path, folder: Path, *options: str, host: str) -> Iterator[Deploying]:
    """Start it; at the end nothing of it is left. `folder` takes its output."""
    mark = uuid.uuid4().hex
    own = folder / mark
    own.mkdir()
    os.mkfifo(own / "progress")
    pipe = os.open(own / "progress", os.O_RDONLY | os.O_NONBLOCK)
    environment = {"DDTREE_OPS_INVENTORY": str(inventory), "DDTREE_OPS_PROGRESS": str(own / "progress"), MARK: mark}
    with (own / "stdout").open("wb") as stdout, (own / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            (PROGRAM, "deploy", "--host", host, "--yes", "--format", "json", *options),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**os.environ, **environment},
            start_new_session=True,
        )
    running = Deploying(process, own, pipe, mark)
    try:
        yield running
    finally:
        running.clean()


def _marked(mark: str) -> Iterator[int]:
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()[:200]
    except OSError:
        return ""
