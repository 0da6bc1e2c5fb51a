"""What a host is: read-only commands, each with the parser of its answer. What it lacks for a deploy: `preflight.py`."""

from __future__ import annotations

import json
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
    """One look at a host: its releases, the unit of the current one, and what really runs.

    `running` is the release of the unit's process: another one than `current` after a switch without a restart.
    `unit_digest` is the sha256 of the unit file that is installed.
    """

    unit: UnitState
    running: str | None
    unit_digest: str | None

    @property
    def serving(self) -> str | None:
        """The release that serves."""
        return self.running if self.unit.serving else None

    @property
    def unit_is_edited(self) -> bool:
        """The installed unit file isn't the current release's."""
        manifest = self.manifest(self.current)
        return manifest is not None and self.unit_digest != manifest.content.get("unit_sha256")


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
    """Every staged release's manifest: NUL, the release's id, NUL, the document."""
    argv = ("find", places.RELEASES, "-mindepth", "1", "-maxdepth", "1", "-type", "d", "-not", "-name", ".*")
    wanted = ("-printf", r"\0%f\0", "-execdir", "cat", "{}/manifest.json", ";")
    return Command((*argv, *wanted), ok=frozenset({0, 1}))


def parse_manifests(text: str) -> tuple[Manifest, ...]:
    """Newest first. A release whose manifest is damaged or missing is none."""
    words = text.split("\0")[1:]
    found = [_manifest(name, document) for name, document in zip(words[::2], words[1::2], strict=False)]
    return tuple(sorted((one for one in found if one), key=lambda one: one.created, reverse=True))


def _manifest(name: str, document: str) -> Manifest | None:
    try:
        content = json.loads(document)
        return Manifest(name, str(content["created"]), content)
    except (ValueError, KeyError, TypeError):
        return None


def running(pid: int) -> Command:
    """Where the unit's process works: the unit starts it in the release's directory (WorkingDirectory=)."""
    return Command(("readlink", f"/proc/{pid}/cwd"), ok=frozenset({0, 1}))


def parse_running(text: str) -> str | None:
    """`/opt/ddtree/releases/<id>` into the id."""
    directory, _, name = text.strip().rpartition("/")
    return name if directory == places.RELEASES and name else None


def unit_digest(unit: str) -> Command:
    """sha256 of the installed unit file."""
    return Command(("sha256sum", f"{places.UNITS}/{unit}"), ok=frozenset({0, 1}))


def parse_digest(text: str) -> str | None:
    """The first word of sha256sum's line."""
    return text.split(maxsplit=1)[0] if text.strip() else None


def audit() -> Command:
    """The audit log of the host."""
    return Command(("cat", places.AUDIT), ok=frozenset({0, 1}))


def parse_committed(text: str) -> tuple[str, ...]:
    """The releases that were committed, the latest first; torn lines are left out."""
    found: dict[str, None] = {}
    for line in reversed(text.splitlines()):
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("event") == "commit":
            found.setdefault(str(record.get("release")), None)
    return tuple(found)


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
