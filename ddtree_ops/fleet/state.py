"""What a host is: read-only commands, each with the parser of its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ddtree_ops.ports import Command
from ddtree_ops.units.systemctl import UnitState

ROOT = "/opt/ddtree"
RELEASES = f"{ROOT}/releases"
_GPU_FIELDS = "index,name,memory.total,memory.used,compute_cap,driver_version"


@dataclass(frozen=True)
class Gpu:
    """One line of nvidia-smi; memory in MiB."""

    index: int
    name: str
    memory_total: int
    memory_used: int
    compute_cap: str
    driver: str


@dataclass(frozen=True)
class Manifest:
    """manifest.json of a release on a host."""

    id: str
    created: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Listener:
    """A process that listens on the server's port; name and pid as far as ss(8) may see them."""

    address: str
    process: str
    pid: int


@dataclass(frozen=True)
class HostState:
    """One look at a host. `current` and `last_good` are release ids."""

    unit: UnitState
    current: str | None
    last_good: str | None
    manifests: tuple[Manifest, ...]
    gpus: tuple[Gpu, ...]
    gpu_problem: str | None
    listeners: tuple[Listener, ...]

    def manifest(self, release: str | None) -> Manifest | None:
        """The manifest of a staged release."""
        return next((one for one in self.manifests if one.id == release), None)


def links() -> Command:
    """The symlinks in /opt/ddtree; exit code 1 when the folder isn't there yet."""
    return Command(("find", ROOT, "-maxdepth", "1", "-type", "l", "-printf", r"%f %l\n"), ok=frozenset({0, 1}))


def parse_links(text: str) -> dict[str, str]:
    """`current releases/<id>` lines into {"current": "<id>"}."""
    pairs = (line.split(" ", 1) for line in text.splitlines() if " " in line)
    return {name: target.rstrip("/").rsplit("/", 1)[-1] for name, target in pairs}


def manifests() -> Command:
    """Every staged release's manifest, one JSON document after the other."""
    argv = ("find", RELEASES, "-mindepth", "2", "-maxdepth", "2", "-name", "manifest.json")
    return Command((*argv, "-not", "-path", "*/.staging-*", "-exec", "cat", "{}", "+"), ok=frozenset({0, 1}))


def parse_manifests(text: str) -> tuple[Manifest, ...]:
    """Newest first. A damaged document ends the list: what was read before it stays."""
    decoder, position, found = json.JSONDecoder(), 0, []
    while (match := re.compile(r"\s*").match(text, position)) and match.end() < len(text):
        try:
            content, position = decoder.raw_decode(text, match.end())
            found.append(Manifest(content["id"], content.get("created", ""), content))
        except (ValueError, KeyError, TypeError):
            break
    return tuple(sorted(found, key=lambda one: one.created, reverse=True))


def gpus() -> Command:
    """nvidia-smi; 127 where it isn't installed, 9 without a driver (nvidia-smi(1), RETURN VALUE)."""
    argv = ("nvidia-smi", f"--query-gpu={_GPU_FIELDS}", "--format=csv,noheader,nounits")
    return Command(argv, ok=frozenset(range(256)))


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """One GPU a line; lines of another shape (a lost GPU prints a sentence) are left out."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == len(_GPU_FIELDS.split(",")) and cells[0].isdigit() and cells[2].isdigit():
            used = int(cells[3]) if cells[3].isdigit() else 0
            found.append(Gpu(int(cells[0]), cells[1], int(cells[2]), used, cells[4], cells[5]))
    return tuple(found)


def listeners(port: int) -> Command:
    """Who listens on the port (ss(8)); no header, numeric, with processes."""
    return Command(("ss", "-Hltnp", f"sport = :{port}"))


def parse_listeners(text: str) -> tuple[Listener, ...]:
    """`LISTEN 0 5 127.0.0.1:30000 0.0.0.0:* users:(("python",pid=7,fd=3))` lines."""
    found = []
    for line in text.splitlines():
        cells = line.split()
        if len(cells) < 5:
            continue
        user = re.search(r'\("(?P<name>[^"]*)",pid=(?P<pid>\d+)', line)
        found.append(Listener(cells[3], user["name"] if user else "?", int(user["pid"]) if user else 0))
    return tuple(found)
