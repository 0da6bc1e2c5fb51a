"""What a host is: read-only commands, each with the parser of its answer. What it lacks for a deploy: `preflight.py`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Completed
from ddtree_ops.units.systemctl import UnitState

# A driver that lost a GPU may let nvidia-smi hang; timeout(1) ends it, with this exit code.
GPU_SECONDS = 15
_TIMED_OUT = (124, 137)
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

    @property
    def port(self) -> int | None:
        """The port that its server listens on, from its arguments."""
        argv = self.content.get("argv", ())
        value = argv[argv.index("--port") + 1] if "--port" in argv[:-1] else ""
        return int(value) if str(value).isdigit() else None


@dataclass(frozen=True)
class Releases:
    """What is in /opt/ddtree: `current` and `last_good` are release ids; manifests newest first."""

    current: str | None
    last_good: str | None
    manifests: tuple[Manifest, ...]

    def manifest(self, release: str | None) -> Manifest | None:
        """The manifest of a staged release."""
        return next((one for one in self.manifests if one.id == release), None)


@dataclass(frozen=True)
class HostState(Releases):
    """One look at a host: its releases and the unit of the current one."""

    unit: UnitState

    @property
    def serving(self) -> str | None:
        """The release that serves."""
        return self.current if self.unit.serving else None


@dataclass(frozen=True)
class Gpus:
    """What nvidia-smi shows; `problem` is what it says instead, or that it says nothing."""

    rows: tuple[Gpu, ...]
    problem: str | None = None


def links() -> Command:
    """The symlinks in /opt/ddtree; exit code 1 when the folder isn't there yet."""
    return Command(("find", places.ROOT, "-maxdepth", "1", "-type", "l", "-printf", r"%f %l\n"), ok=frozenset({0, 1}))


def parse_links(text: str) -> dict[str, str]:
    """`current releases/<id>` lines into {"current": "<id>"}."""
    pairs = (line.split(" ", 1) for line in text.splitlines() if " " in line)
    return {name: target.rstrip("/").rsplit("/", 1)[-1] for name, target in pairs}


def manifests() -> Command:
    """Every staged release's manifest, one JSON document after the other."""
    argv = ("find", places.RELEASES, "-mindepth", "2", "-maxdepth", "2", "-name", "manifest.json")
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
    """nvidia-smi; 127 where it isn't installed, 9 without a driver (nvidia-smi(1), RETURN VALUE), 124 if it hangs."""
    argv = ("timeout", "-k", "1", str(GPU_SECONDS), "nvidia-smi", f"--query-gpu={_GPU_FIELDS}", "--format=csv,noheader,nounits")
    return Command(argv, ok=frozenset(range(256)), timeout=GPU_SECONDS + 5.0)


def read_gpus(done: Completed) -> Gpus:
    """What nvidia-smi showed, or why it showed nothing."""
    if done.exit_code in _TIMED_OUT:
        return Gpus((), f"nvidia-smi gave no answer in {GPU_SECONDS} s")
    said = (done.stderr or done.stdout).strip() or f"exit code {done.exit_code}"
    return Gpus(parse_gpus(done.stdout), f"nvidia-smi: {said}" if done.exit_code else None)


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """One GPU a line; lines of another shape (a lost GPU prints a sentence) are left out."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == len(_GPU_FIELDS.split(",")) and cells[0].isdigit() and cells[2].isdigit():
            used = int(cells[3]) if cells[3].isdigit() else 0
            found.append(Gpu(int(cells[0]), cells[1], int(cells[2]), used, cells[4], cells[5]))
    return tuple(found)
