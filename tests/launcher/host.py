"""A release directory, a systemd-like environment, and a launcher running in it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.launcher.conftest import SOURCE
from tests.launcher.journal import JOURNALCTL, Journal
from tests.ports import free_port

STAND_IN = Path(__file__).parent / "stand_in"
API_KEY = "k3y-with-'quote"
# the launcher's main with a faster rhythm; everything else is as in the unit
MAIN = (
    "import sys; from sglang_ddtree.launcher import main; from sglang_ddtree.pace import Pace; "
    "sys.exit(main(pace=Pace(look_every_s=0.1, crash_grace_s=0.4, settle_s=0.3, drain_margin_s=0.5, probe_pause_s=0.05)))"
)


def server_json(port: int, **changes: Any) -> dict[str, Any]:
    """A server.json for the stand-in, with changes."""
    document: dict[str, Any] = {
        "schema": "ddtree-ops/server/v1",
        "release": "r1",
        "port": port,
        "listen": "127.0.0.1",
        "argv": ["--model-path", "/srv/models/m", "--host", "127.0.0.1", "--port", str(port), "--tp-size", "2"],
        "environment": {"PAUSE": "0.01"},
        "credentials": {"api_key": {"argument": "--api-key"}},
        "model_bytes": None,
        "probe": {"prompt": "The capital of France is", "max_new_tokens": 8, "timeout_s": 10},
        "stall_after_s": 20,
        "load_budget_s": 30,
        "drain_s": 5,
    }
    return document | changes


def make_release(directory: Path, document: dict[str, Any]) -> Path:
    """A release whose venv is this interpreter."""
    release = directory / "releases" / "r1"
    (release / "venv" / "bin").mkdir(parents=True)
    (release / "venv" / "bin" / "python").symlink_to(sys.executable)
    (release / "server.json").write_text(json.dumps(document), encoding="utf-8")
    # the unit's working directory: nobody may import from it
    for name in ("json", "sglang", "multiprocessing"):
        (release / f"{name}.py").write_text("raise ImportError('taken from the working directory')\n", encoding="utf-8")
    return release


def environment(directory: Path, story: str, key: str) -> dict[str, str]:
    """What the unit gives the launcher, and where the stand-ins for SGLang and journalctl are."""
    for name in ("credentials", "state", "cache", "bin"):
        (directory / name).mkdir(exist_ok=True)
    (directory / "credentials" / "api_key").write_text(key, encoding="utf-8")
    journalctl = directory / "bin" / "journalctl"
    journalctl.write_text(JOURNALCTL, encoding="utf-8")
    journalctl.chmod(0o755)
    return {
        "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": f"{SOURCE}:{STAND_IN}",
        "CREDENTIALS_DIRECTORY": str(directory / "credentials"),
        "STATE_DIRECTORY": str(directory / "state"),
        "CACHE_DIRECTORY": str(directory / "cache"),
        "NOTIFY_SOCKET": str(directory / "notify"),
        "INVOCATION_ID": "2bf2ae863721475d8799fef94e92c21d",
        "JOURNAL": str(directory / "journal.export"),
        "STORY": story,
    }


def fill(address: str) -> None:
    """Send to a socket that nobody reads until its queue is full."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, contextlib.suppress(BlockingIOError):
        sender.setblocking(False)
        while True:
            sender.sendto(b"FILLED=1", address)


class Manager:
    """systemd's end of the notify socket: takes every datagram at once, as systemd does; not while it is `busy`."""

    def __init__(self, address: str, *, busy: bool = False) -> None:
        self._free = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._told = ""
        self._news = threading.Condition()
        if busy:
            fill(address)
        else:
            self._free.set()
        threading.Thread(target=self._read, daemon=True).start()

    def wait_for(self, text: str, timeout_s: float) -> str:
        """Everything told so far, once that holds `text`."""
        with self._news:
            assert self._news.wait_for(lambda: text in self._told, timeout_s), f"no {text} in {self._told}"
            return self._told

    def told(self) -> str:
        """Everything told so far."""
        with self._news:
            return self._told

    def read_on(self) -> None:
        """Be busy no more."""
        self._free.set()

    def close(self) -> None:
        """Tell the reader to end."""
        self.read_on()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", self._socket.getsockname())

    def _read(self) -> None:
        self._free.wait()
        with self._socket:
            while datagram := self._socket.recv(4096):
                with self._news:
                    self._told += datagram.decode() + "\n"
                    self._news.notify_all()


@dataclass
class Launched:
    """A running launcher, what it told systemd, and its journal."""

    process: subprocess.Popen[bytes]
    manager: Manager
    journal: Journal
    directory: Path
    port: int

    def wait_for(self, text: str, timeout_s: float = 60.0) -> str:
        """Everything told to systemd so far, once that holds `text`."""
        return self.manager.wait_for(text, timeout_s)

    def end(self, timeout_s: float = 60.0) -> int:
        """The launcher's exit status."""
        return self.process.wait(timeout=timeout_s)

    def log(self) -> str:
        """The journal's text so far."""
        return "\n".join(text for _, text in list(self.journal.lines))

    def boots(self) -> list[dict[str, Any]]:
        """The boot records."""
        path = self.directory / "state" / f"{self.port}.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def close(self) -> None:
        """End everything that may be left."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.journal.close()
        self.manager.close()


def launch(
    directory: Path,
    story: str,
    *,
    journal: bool = True,
    busy: bool = False,
    port: int = 0,
    key: str = API_KEY + "\n",
    **changes: Any,
) -> Launched:
    """Start a launcher whose server tells `story`; `key` is the credential's content, `changes` go into server.json."""
    port = port or free_port()
    release = make_release(directory, server_json(port, **changes))
    variables = environment(directory, story, key) | ({} if journal else {"JOURNAL": "/nonexistent"})
    manager = Manager(variables["NOTIFY_SOCKET"], busy=busy)
    kept = Journal(directory / "journal.export")
    command = (sys.executable, "-P", "-c", MAIN, "--release", str(release))
    process = subprocess.Popen(
        command,
        cwd=release,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=kept.socket.fileno(),
        stderr=kept.socket.fileno(),
        start_new_session=True,
    )
    return Launched(process, manager, kept, directory, port)
