"""A small model of a host behind the four protocols: enough for flows to run in milliseconds, with no world behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.errors import PlaybookFailed, Unreachable
from ddtree_ops.ports import Command, Completed, HttpRequest, HttpResponse, PlaybookResult, Stream, TaskResult

CRASH = (
    "[2026-11-29 18:37:34 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/opt/x/sglang/srt/managers/scheduler.py", line 1, in run_scheduler_process\n'
    "    scheduler.run_event_loop()\n"
    "RuntimeError: it broke\n\n"
)


@dataclass
class HostModel:
    """What the host is, and how its server behaves by release id: `crashing` releases die, others get ready."""

    name: str = "ct200"
    releases: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)
    current: str | None = None
    running: str | None = None
    committed: list[str] = field(default_factory=list)
    unit_edited: bool = False
    unit_port: int = 30000
    last_good: str | None = None
    active: str = "inactive"
    crashing: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    refused_by_sglang: bool = False
    gpus: int = 8
    unreachable: bool = False
    failing_playbook: str | None = None
    runs: int = 0
    played: list[tuple[str, str]] = field(default_factory=list)
    commands: list[tuple[str, ...]] = field(default_factory=list)

    def restart(self) -> None:
        self.runs += 1
        self.running = self.current
        self.unit_port = self.port(self.current)
        self.active = "failed" if self.current in self.crashing else "active"

    def port(self, release: str | None) -> int:
        return self.ports.get(release or "", 30000)

    def manifest(self, number: int, release: str) -> str:
        content = {"created": f"{number:04}", "argv": ["--port", str(self.port(release))], "unit_sha256": "own"}
        return f"\0{release}\0{json.dumps({'id': release, **content})}"

    def state(self, unit: str) -> str:
        if unit != f"ddtree-server@{self.unit_port}.service":
            return f"Id={unit}\nLoadState=not-found\nActiveState=inactive\nSubState=dead\n"
        sub = {"active": "running", "failed": "failed"}.get(self.active, "dead")
        code = 70 if self.active == "failed" else 0
        load = "loaded" if self.current else "not-found"
        pid = 7 if self.active == "active" else 0
        return (
            f"Id={unit}\nLoadState={load}\nActiveState={self.active}\nSubState={sub}\nInvocationID=run{self.runs}\n"
            f"ExecMainStatus={code}\nUnitFileState=enabled\nMainPID={pid}\n"
        )

    def findings(self) -> list[dict[str, str]]:
        """The answer of the preflight program."""
        if self.gpus == 8:
            return []
        found = f"{self.gpus} GPUs" if self.gpus else "no GPU seen"
        return [{"check": "gpus", "found": found, "expected": "8 x NVIDIA", "fix": "look for Xid"}]


@dataclass
class ModelShell:
    """Answers the read-only commands and the unit verbs that the flows use; anything else fails the test."""

    model: HostModel

    @property
    def host(self) -> str:
        return self.model.name

    def run(self, command: Command) -> Completed:
        if self.model.unreachable:
            raise Unreachable(f"{self.host}: no connection")
        self.model.commands.append(command.argv)
        code, output = self._answer(command.argv)
        return Completed(command, code, output, "", 0.0)

    def _answer(self, argv: tuple[str, ...]) -> tuple[int, str]:  # noqa: PLR0912 - one case a command
        model = self.model
        match argv[0], argv[1:3]:
            case "systemctl", ("show", unit):
                return 0, model.state(unit)
            case "systemctl", ("list-units", _):
                return 0, "".join(f"ddtree-server@{port}.service loaded active running x\n" for port in model.ports.values())
            case "systemctl", ("disable", _):
                pass
            case "systemctl", ("restart", _):
                model.restart()
            case "systemctl", ("stop", _):
                model.active = "inactive"
            case "systemctl", ("reset-failed", _):
                pass
            case "find", ("/opt/ddtree", _):
                links = {"current": model.current, "last-good": model.last_good}
                return 0, "".join(f"{name} releases/{target}\n" for name, target in links.items() if target)
            case "find", _:
                return 0, "".join(model.manifest(number, one) for number, one in enumerate(model.releases))
            case "readlink", _:
                return 0, f"/opt/ddtree/releases/{model.running}\n"
            case "sha256sum", _:
                return 0, f"{'other' if model.unit_edited else 'own'}  x\n"
            case "cat", (path,) if path.endswith("/api_key"):
                return 1, ""
            case "cat", _:
                return 0, "".join(json.dumps({"event": "commit", "release": one}) + "\n" for one in model.committed)
            case "python3", ("-c", _):
                return 0, json.dumps({"findings": model.findings() if "check_gpus" in argv[2] else []})
            case "journalctl", _:
                return 0, "__CURSOR=s=1;i=1\n__REALTIME_TIMESTAMP=1\n_BOOT_ID=b\n\n"
            case "runuser", _:
                answer = {"ok": not model.refused_by_sglang, "message": "unrecognized arguments: --nope"}
                return (78 if model.refused_by_sglang else 0), json.dumps(answer)
            case _:
                raise AssertionError(f"the model knows no {argv}")
        return 0, ""

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        stream = ModelStream(self._journal(), "--follow" in argv)
        try:
            yield stream
        finally:
            stream.close()

    def _journal(self) -> bytes:
        if self.model.current not in self.model.crashing:
            return b""
        head = f"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=2000000\n_PID=7\n_SYSTEMD_INVOCATION_ID=run{self.model.runs}\n"
        return "".join(f"{head}MESSAGE={line}\n\n" for line in CRASH.split("\n")).encode()


class ModelStream:
    """Hands over what there is, then stays open like a follower until it is closed."""

    def __init__(self, data: bytes, follow: bool) -> None:
        self._data = data
        self._follow = follow
        self._closed = threading.Event()

    def chunks(self) -> Iterator[bytes]:
        if self._data:
            yield self._data
        if self._follow:
            self._closed.wait(30)

    def close(self) -> None:
        self._closed.set()


@dataclass
class ModelHttp:
    model: HostModel

    def request(self, request: HttpRequest) -> HttpResponse:
        if self.model.active != "active":
            return HttpResponse(0, b"", 0.0)
        text = "!!!!!!!!!!!!" if self.model.current in self.model.wrong else " Paris."
        return HttpResponse(200, json.dumps({"text": text, "meta_info": {"completion_tokens": 2}}).encode(), 0.01)


@dataclass
class ModelPlaybooks:
    model: HostModel

    def run(
        self, playbook: str, host: str, variables: Mapping[str, Any], on_task: Callable[[TaskResult], None]
    ) -> PlaybookResult:
        release = str(variables["release_id"])
        self.model.played.append((playbook, release))
        if playbook == self.model.failing_playbook:
            raise PlaybookFailed(f"{host}: runtime : Install the locked packages: no space left")
        if playbook == "deploy" and release not in self.model.releases:
            self.model.releases.append(release)
            self.model.ports[release] = int(variables["service_port"])
        if playbook == "switch" and variables["service_port"] != self.model.port(release):
            raise PlaybookFailed(f"{host}: release {release} serves on another port")
        if playbook == "switch":
            self.model.current = release
        if playbook == "commit":
            self.model.last_good = release
            self.model.committed.append(release)
        return PlaybookResult(playbook, (), 0.0)
