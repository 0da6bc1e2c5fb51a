"""Starts the simulator as a process of its own and watches what it writes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ports import free_port

SOURCE = Path(__file__).resolve().parents[2] / "lab" / "simulator" / "src"
READY = "The server is fired up and ready to roll!"
QUICK = {
    "SIM_LOAD_SECONDS": "0.3",
    "SIM_CRASH_SETTLE_SECONDS": "0.3",
    "SIM_COREDUMP_SECONDS": "0.3",
    "SIM_HEALTH_POLL_SECONDS": "0.02",
    "SIM_TOKENS_PER_SECOND": "1000",
}


@dataclass
class Server:
    """One running simulator. `text` is all it wrote so far."""

    process: subprocess.Popen[bytes]
    port: int
    _chunks: list[bytes] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _ended: bool = False

    @property
    def text(self) -> str:
        """Everything written so far."""
        return b"".join(self._chunks).decode()

    @property
    def lines(self) -> list[str]:
        """Lines with a progress bar's states taken apart."""
        return re.split(r"[\r\n]+", self.text)

    def collect(self) -> None:
        """Read until every process that holds the output has ended."""
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 65536):
            with self._changed:
                self._chunks.append(data)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Wait until `text` was written."""
        with self._changed:
            found = self._changed.wait_for(lambda: text in self.text or self._ended, seconds)
        assert found and text in self.text, f"{text!r} not in:\n{self.text[-3000:]}"

    def wait_ended(self, seconds: float = 60) -> int:
        """Wait until all processes are gone; gives the main process's exit status."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._ended, seconds), self.text[-3000:]
        return self.process.wait(seconds)

    def request(self, path: str, body: Any = None, *, key: str | None = None) -> tuple[int, str]:
        """One HTTP request: status and text."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:  # noqa: S310
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def generate(self, prompt: str, tokens: int = 32, **sampling: Any) -> dict[str, Any]:
        """POST /generate; the answer."""
        body = {"text": prompt, "sampling_params": {"temperature": 0, "max_new_tokens": tokens, **sampling}}
        status, text = self.request("/generate", body)
        assert status == 200, text
        answer: dict[str, Any] = json.loads(text)
        return answer

    def children(self) -> dict[int, str]:
        """Child processes and their names."""
        found = {}
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[1]) == self.process.pid:
                    found[int(entry.name)] = (entry / "cmdline").read_text().rstrip("\0")
        return found


@contextlib.contextmanager
def running(models: Path, *arguments: str, ready: bool = True, **settings: str) -> Iterator[Server]:
    """A simulator with these arguments and SIM_ settings; killed at the end."""
    port = free_port()
    argv = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(models / "target")]
    argv += ["--host", "127.0.0.1", "--port", str(port), "--attention-backend", "triton", "--enable-metrics"]
    argv += ["--disable-piecewise-cuda-graph", *arguments]
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=_environment(settings), start_new_session=True
    )
    server = Server(process, port)
    reader = threading.Thread(target=server.collect)
    reader.start()
    try:
        if ready:
            server.wait_for(READY)
        yield server
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(5)
        reader.join(5)
        assert process.stdout is not None
        process.stdout.close()
    assert not reader.is_alive(), "a process of the simulator outlived its main process"


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SIM_", "SGLANG_"))}
    return {**inherited, "PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1", **QUICK, **settings}


def draft(models: Path, algorithm: str = "DFLASH", *more: str) -> tuple[str, ...]:
    """Arguments for speculation."""
    path = str(models / "draft")
    return ("--speculative-algorithm", algorithm, "--speculative-draft-model-path", path, *more)


def wait_until(condition: Any, seconds: float = 60) -> None:
    """Wait for something outside that can't be awaited: processes that vanish."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        pause.wait(0.02)
