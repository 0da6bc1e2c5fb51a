"""One SGLang server under test: its command line, its process, and the wait until it serves or is dead."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.gpu.client import Client

START_S = 300.0
STOP_S = 15.0
# SGLang 0.5.13.post1 derives further ports from the first one (gRPC 10,000 above it): servers are kept well apart
FIRST_PORT = 30000
PORT_PACE = 1500
_PORTS = itertools.count(FIRST_PORT, PORT_PACE)  # never one twice: an old server would answer in the new one's place
FLAGS = (
    "--host 127.0.0.1 --attention-backend triton --sampling-backend pytorch --grammar-backend none "
    "--disable-piecewise-cuda-graph --mem-fraction-static 0.5 --max-total-tokens 300000 --max-running-requests 48 "
    "--cuda-graph-bs 1 2 4 8 16 32 48 --random-seed 1 --enable-metrics"
).split()


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """A server by name; `words` are added to the common flags, `variables` to the environment.
    `may_die`: its end is what a stage wants to see."""

    name: str
    words: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    may_die: bool = False


class ServerDied(Exception):
    """The process ended, or did not serve in time; the end of its log is in the message."""


def command(spec: ServerSpec, models: Path, port: int) -> tuple[str, ...]:
    return (
        *(sys.executable, "-u", "-m", "sglang.launch_server", "--model-path", str(models / "target"), "--port", str(port)),
        *FLAGS,
        *spec.words,
    )


def dflash(models: Path) -> ServerSpec:
    return ServerSpec("dflash", _drafted("DFLASH", models))


def ddtree(models: Path, budget: int, **variables: str) -> ServerSpec:
    """DDTREE with that node budget, named `ddtree-BUDGET`; `-timed` is added where variables are given."""
    name = f"ddtree-{budget}{'-timed' if variables else ''}"
    return ServerSpec(name, (*_drafted("DDTREE", models), "--speculative-ddtree-budget", str(budget)), variables)


def _drafted(algorithm: str, models: Path) -> tuple[str, ...]:
    return ("--speculative-algorithm", algorithm, "--speculative-draft-model-path", str(models / "draft"))


class Server:
    """A started server; its log is a file. Stop it when done: it is a process group of its own."""

    def __init__(self, spec: ServerSpec, models: Path, port: int, log: Path) -> None:
        self.spec = spec
        self.log = log
        self.client = Client(f"http://127.0.0.1:{port}")
        self.started = time.monotonic()
        self.ready_after_s = 0.0
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command(spec, models, port),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **spec.variables},
            )

    def wait(self, timeout_s: float = START_S) -> None:
        """Until /health answers 200. Raises ServerDied."""
        deadline = self.started + timeout_s
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise ServerDied(f"{self.spec.name} ended with {self.process.returncode}\n{self.tail()}")
            if self.client.healthy():
                self.ready_after_s = round(time.monotonic() - self.started, 1)
                return
            time.sleep(0.25)
        raise ServerDied(f"{self.spec.name} did not serve within {timeout_s:.0f} s\n{self.tail()}")

    def alive(self) -> bool:
        return self.process.poll() is None

    def tail(self, size: int = 4000) -> str:
        return self.log.read_text(errors="replace")[-size:]

    def stop(self) -> None:
        """SIGTERM to the server, SIGKILL to what is left of its group."""
        if self.alive():
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)


class Servers:
    """Several servers on the same card, started together since the start takes longest; idle ones leave the card alone."""

    def __init__(self, models: Path, logs: Path) -> None:
        self.models = models
        self.logs = logs
        self.running: dict[str, Server] = {}

    def __enter__(self) -> Servers:
        return self

    def __exit__(self, *_: object) -> None:
        for name in tuple(self.running):
            self.stop(name)

    def start(self, *specs: ServerSpec) -> dict[str, str]:
        """Start those that don't run yet, wait for all, and return the last words of those that died, by name.

        Several stages may need the same one: it is started once.
        """
        fresh = {spec.name: spec for spec in specs if spec.name not in self.running}.values()
        for spec in fresh:
            self.running[spec.name] = Server(spec, self.models, next(_PORTS), self.logs / f"{spec.name}.log")
        died: dict[str, str] = {}
        for spec in fresh:
            try:
                self.running[spec.name].wait()
            except ServerDied as error:
                died[spec.name] = str(error)
        return died

    def client(self, name: str) -> Client:
        """Of a running server. Raises ServerDied."""
        server = self.running[name]
        if not server.alive():
            raise ServerDied(f"{name} is not running any more\n{server.tail()}")
        return server.client

    def stop(self, name: str) -> None:
        self.running.pop(name).stop()
