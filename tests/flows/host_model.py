"""A small model of a host behind the four protocols: enough for flows to run in milliseconds, with no world behind it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.errors import PlaybookFailed, Unreachable
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Completed, HttpRequest, HttpResponse, Stream, TaskResult, TaskState
from tests.flows.lock_model import LockModel, ModelLockStream
from tests.flows.tree_model import TreeModel

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
    drop_ins: list[str] = field(default_factory=list)
    argv: list[str] = field(default_factory=lambda: ["launcher"])
    damaged: set[str] = field(default_factory=set)
    repaired: list[str] = field(default_factory=list)
    files: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] | None = None
    lock: dict[str, Any] | None = None
    dead_man: dict[str, Any] | None = None
    boot: str = "b"
    unit_port: int = 30000
    last_good: str | None = None
    active: str = "inactive"
    crashing: set[str] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    refused_by_sglang: bool = False
    gpus: int = 8
    unreachable: bool = False
    failing_playbook: str | None = None
    tree: TreeModel = field(default_factory=TreeModel)
    runs: int = 0
    lock_program: LockModel = field(default_factory=LockModel)
    variables: list[dict[str, Any]] = field(default_factory=list)
    played: list[tuple[str, str]] = field(default_factory=list)
    staged_first: list[str] = field(default_factory=list)
    commands: list[tuple[str, ...]] = field(default_factory=list)

    def restart(self) -> None:
        self.runs += 1
        self.running = self.current
        self.argv = ["launcher"]
        self.unit_port = self.port(self.current)
        self.active = "failed" if self.current in self.crashing else "active"

    def port(self, release: str | None) -> int:
        return self.ports.get(release or "", 30000)

    def manifest(self, number: int, release: str) -> dict[str, Any]:
        return {"id": release, "created": f"{number:04}", "argv": ["--port", str(self.port(release))], "unit_sha256": "own"}

    def look(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """What the look's program prints on such a host."""
        links = {"current": self.current, "last-good": self.last_good}
        ports = {30000, self.unit_port, *self.ports.values()}
        whole = {one: self.manifest(number, one) for number, one in enumerate(self.releases)}
        answers = {"preflight": {"findings": self.findings()}, "model": {"findings": []}}
        programs = {name: {"output": json.dumps(answers[name]), "problem": None} for name in wanted["programs"]}
        return {
            "schema": "ddtree-ops/look/v1",
            "links": {name: target for name, target in links.items() if target},
            "releases": {**whole, **dict.fromkeys(self.damaged)},
            "leftovers": [],
            "lock": self.lock,
            "dead_man": self.dead_man,
            "settings": self.settings,
            "units": [self.unit(f"ddtree-server@{port}.service") for port in sorted(ports)] + self.timers(),
            "units_problem": None,
            "files": self.files,
            "programs": programs,
        }

    def unit(self, name: str) -> dict[str, Any]:
        show = self.state(name)
        runs = "MainPID=7" in show
        return {
            "show": show,
            "drop_ins": self.drop_ins,
            "digest": "other" if self.unit_edited else "own",
            "command": ["launcher"],
            "release": self.running if runs else None,
            "argv": self.argv if runs else None,
        }

    def timers(self) -> list[dict[str, Any]]:
        """The dead-man's, while it is armed."""
        show = f"Id={places.DEAD_MAN_TIMER}\nLoadState=loaded\nActiveState=active\nSubState=waiting\n"
        blank: dict[str, Any] = {"drop_ins": [], "digest": None, "command": None, "release": None, "argv": None}
        return [{"show": show, **blank}] if self.dead_man else []

    def state(self, unit: str) -> str:
        if unit != f"ddtree-server@{self.unit_port}.service":
            return f"Id={unit}\nLoadState=not-found\nActiveState=inactive\nSubState=dead\n"
        sub = {"active": "running", "failed": "failed"}.get(self.active, "dead")
        code = 70 if self.active == "failed" else 0
        load = "loaded" if self.current else "not-found"
        pid = 7 if self.active == "active" else 0
        return (
            f"Id={unit}\nLoadState={load}\nActiveState={self.active}\nSubState={sub}\nInvocationID=run{self.runs}\n"
            f"Result={'exit-code' if code else 'success'}\nExecMainStatus={code}\nUnitFileState=enabled\nMainPID={pid}\n"
        )

    @staticmethod
    def tasks(playbook: str) -> list[tuple[str, str]]:
        """Roles and tasks of a playbook, those that the model knows."""
        switch = [("service", "Arm the dead-man"), ("service", "Switch to the release")]
        stage = [("runtime", "Stage the release"), ("runtime", "Let SGLang judge the arguments")]
        return {
            "stage": stage[:1],
            "converge": [*stage, *switch],
            "switch": switch,
            "commit": [("service", "Commit the release")],
            "disarm": [("service", "Disarm the dead-man")],
        }[playbook]

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

    def _answer(self, argv: tuple[str, ...]) -> tuple[int, str]:
        model = self.model
        match argv[0], argv[1:3]:
            case "systemctl", ("show", unit):
                return 0, model.state(unit)
            case "systemctl", ("list-units", _):
                return 0, "".join(f"ddtree-server@{port}.service loaded active running x\n" for port in model.ports.values())
            case "systemctl", ("disable" | "reset-failed", _):
                pass
            case "systemctl", ("restart", _):
                model.restart()
            case "systemctl", ("stop", _):
                model.active = "inactive"
            case "cat", (path,) if path.endswith(("/api_key", "/boot_id")):
                return (0, f"{model.boot}\n") if path.endswith("/boot_id") else (1, "")
            case "cat", (path, *_):
                return 0, "".join(json.dumps({"event": "commit", "release": one}) + "\n" for one in model.committed)
            case "python3", ("-I", "-S") if argv[5] == "list":  # the source of a release
                return 0, json.dumps({"packages": {}, "files": {}})
            case "python3", ("-I", "-S"):
                return 0, json.dumps(model.look(json.loads(argv[5])))
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
        if self.model.unreachable:
            raise Unreachable(f"{self.host}: no connection")
        stream: ModelStream | ModelLockStream
        if argv[0] == "python3":
            stream = self.model.lock_program.stream(argv[-1])
        else:
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

    def send(self, data: bytes) -> None:
        raise AssertionError(f"a follower has no input: {data!r}")

    def close(self) -> None:
        self._closed.set()


@dataclass
class ModelHttp:
    model: HostModel

    def request(self, request: HttpRequest) -> HttpResponse:
        if self.model.active != "active":
            return HttpResponse(0, b"", 0.0)
        if request.path in ("/server_info", "/metrics"):
            return self.model.tree.get(request.path)
        text = "!!!!!!!!!!!!" if self.model.current in self.model.wrong else " Paris."
        if request.body is None:
            return HttpResponse(200, b"", 0.01)
        return self.model.tree.generate(request.body["text"], request.body["sampling_params"]["max_new_tokens"], text)


@dataclass
class ModelPlaybooks:
    model: HostModel

    def run(self, playbook: str, host: str, variables: Mapping[str, Any], on_task: Callable[[TaskResult], None]) -> None:
        release = str(variables["release_id"])
        if playbook == "stage":
            self.model.staged_first.append(release)
        else:
            self.model.played.append((playbook, release))
        self.model.variables.append(dict(variables))
        assert variables["service_lock_token"] == self.model.lock_program.asked[-1]["token"]
        tasks = self.model.tasks(playbook)
        failing = self.model.failing_playbook
        for number, (role, name) in enumerate(tasks):
            on_task(TaskResult(host, role, name, TaskState.STARTED))
            if failing in (name, playbook):
                on_task(TaskResult(host, role, name, TaskState.FAILED, "no space left"))
                raise PlaybookFailed(f"{host}: {role} : {name}: no space left")
            self._do(name, release, variables)
            on_task(TaskResult(host, role, name, TaskState.CHANGED if number else TaskState.OK))

    def _do(self, task: str, release: str, variables: Mapping[str, Any]) -> None:
        model = self.model
        if task == "Stage the release":
            model.ports.setdefault(release, int(variables["service_port"]))
            if release not in model.releases:
                model.releases.append(release)
            model.damaged.discard(release)
            if variables.get("release_repair"):
                model.repaired.append(release)
                model.files.pop(release, None)
        elif task == "Let SGLang judge the arguments" and model.refused_by_sglang:
            raise PlaybookFailed(f"{model.name}: runtime : {task}: exit code 78")
        elif task == "Arm the dead-man" and variables.get("service_deadman_s"):
            back_to = variables["service_back_to"] or None
            model.dead_man = {"release": release, "back_to": back_to, "invocation": f"run{model.runs}", "seconds_left": 75.0}
        elif task == "Switch to the release":
            if variables["service_port"] != model.port(release):
                raise PlaybookFailed(f"{model.name}: release {release} serves on another port")
            model.current = release
            model.unit_edited = False
            model.drop_ins = []
        elif task == "Commit the release":
            model.last_good = release
            model.committed.append(release)
            model.dead_man = None
        elif task == "Disarm the dead-man":
            model.dead_man = None
