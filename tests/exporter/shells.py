"""Hosts for collectors: programs really run, only in a folder that stands for /opt/ddtree and /var/lib/ddtree."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.exporter.target import Target
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Completed, Http, HttpRequest, HttpResponse, Stream

RELEASE = "lab-0123456789"
PORT = 30000
UNIT = f"ddtree-server@{PORT}.service"
INVOCATION = "1f" * 16
STARTED = 1_700_000_100


class RootedShell(LocalShell):
    """Runs what it is told with the host's two folders below `root`. systemctl is `units`: there is no manager to ask here."""

    def __init__(self, root: Path) -> None:
        super().__init__("here")
        self.root = root
        self.units: dict[str, dict[str, str]] = {}
        self.timer: dict[str, str] = {}
        self.asked: list[tuple[str, ...]] = []

    def run(self, command: Command) -> Completed:
        self.asked.append(command.argv)
        if command.argv[0] == "systemctl":
            shown = {places.DEAD_MAN_TIMER: self.timer} if places.DEAD_MAN_TIMER in command.argv else self.units
            return Completed(command, 0, self._systemctl(command.argv[1], shown), "", 0.0)
        done = super().run(replace(command, argv=tuple(map(self._rooted, command.argv))))
        return replace(done, stdout=done.stdout.replace(str(self.root), ""))

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        self.asked.append(argv)
        with super().stream(tuple(map(self._rooted, argv))) as stream:
            yield stream

    def _rooted(self, word: str) -> str:
        for place in (places.ROOT, places.STATE):
            word = word.replace(place, f"{self.root}{place}")
        return word

    def _systemctl(self, verb: str, shown: dict[str, dict[str, str]]) -> str:
        if verb == "list-units":
            return "".join(f"{name} loaded active running SGLang\n" for name in shown)
        return "\n\n".join("\n".join(f"{key}={value}" for key, value in unit.items()) for unit in shown.values())


class HostFolder:
    """A host with one release that serves."""

    def __init__(self, root: Path) -> None:
        self.opt, self.state = root / places.ROOT[1:], root / places.STATE[1:]
        (self.opt / "releases").mkdir(parents=True)
        (self.state / "boots").mkdir(parents=True)
        self.shell = RootedShell(root)
        self.release(RELEASE)
        self.link("current", RELEASE)
        self.link("last-good", RELEASE)
        self.unit()

    def target(self, http: Http | None = None) -> Target:
        return Target(self.shell, http or Silent())

    def release(self, name: str, *argv: str, port: int = PORT) -> None:
        folder = self.opt / "releases" / name
        folder.mkdir()
        words = ["--model-path", "/srv/models/kimi", "--port", str(port), "--tp-size", "8", *argv]
        (folder / "server.json").write_text(json.dumps({"port": port, "argv": words}))
        (folder / "manifest.json").write_text(json.dumps({"created": "2026-11-30T00:00:00Z", "argv": words}))

    def link(self, name: str, release: str) -> None:
        (self.opt / name).unlink(missing_ok=True)
        (self.opt / name).symlink_to(f"releases/{release}")

    def unit(self, **changed: str) -> None:
        values = {"Id": UNIT, "LoadState": "loaded", "ActiveState": "active", "SubState": "running", "MainPID": "4711"}
        values |= {"InvocationID": INVOCATION, "ExecMainStartTimestamp": f"@{STARTED}", "UnitFileState": "enabled"}
        self.shell.units = {UNIT: {**values, **changed}}

    def boot(self, release: str, invocation: str = INVOCATION) -> None:
        with (self.state / "boots" / f"{PORT}.jsonl").open("a") as file:
            file.write(json.dumps({"release": release, "invocation": invocation}) + "\n")

    def audit(self, *records: Mapping[str, Any]) -> None:
        with (self.state / "audit.jsonl").open("a") as file:
            file.writelines(json.dumps({"at": "2026-11-30T10:00:00Z", **record}) + "\n" for record in records)


class Silent:
    """Nothing listens on any port."""

    def request(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(0, b"", 0.0)


class Answering:
    """HTTP as a function."""

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = answer

    def request(self, request: HttpRequest) -> HttpResponse:
        return self._answer(request)
