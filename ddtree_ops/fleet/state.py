"""What a host is. How it is looked at: `look.py`; what it lacks for a deploy: `preflight.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Completed
from ddtree_ops.units.systemctl import UnitState
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

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
        return whole_number(str(value), MOST_PORT)


@dataclass(frozen=True)
class Leftover:
    """What an interrupted run left among the releases: a hidden directory, and seconds since it was touched."""

    name: str
    age: float


@dataclass(frozen=True)
class Releases:
    """What is in /opt/ddtree: `current` and `last_good` are release ids; manifests newest first.

    `damaged` are directories of releases without a readable manifest.
    """

    current: str | None
    last_good: str | None
    manifests: tuple[Manifest, ...]
    damaged: tuple[str, ...] = field(default=(), kw_only=True)
    leftovers: tuple[Leftover, ...] = field(default=(), kw_only=True)

    def manifest(self, release: str | None) -> Manifest | None:
        """The manifest of a staged release."""
        return next((one for one in self.manifests if one.id == release), None)


@dataclass(frozen=True)
class FileDrift:
    """Files of a release that aren't as they were staged; relative paths, some of them: `more` counts the others.

    `access`: files and directories with a wrong owner or mode, and which. `problem`: their list itself is damaged.
    """

    changed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    access: Mapping[str, str] = field(default_factory=dict)
    more: int = 0
    problem: str | None = None

    def __bool__(self) -> bool:
        return bool(self.changed or self.missing or self.added or self.access or self.problem)


@dataclass(frozen=True)
class LockHolder:
    """Who holds the host's lock, as the lock file says: a text for each, empty where it doesn't."""

    user: str = ""
    controller: str = ""
    pid: int = 0
    command: str = ""
    since: str = ""


@dataclass(frozen=True)
class DeadMan:
    """The dead-man's orders: a deploy of `release` isn't committed; without that, `back_to` comes back.

    `invocation`: the unit's run when the switch was made; empty: none. `after_s` in seconds; `seconds_left` is None after
    a reboot. `timer_active`: systemd counts. `damaged`: the file can't be read, and the other fields say nothing.
    """

    release: str
    back_to: str | None
    armed_at: str
    after_s: int
    invocation: str
    seconds_left: float | None
    timer_active: bool
    damaged: bool = False


@dataclass(frozen=True)
class HostState(Releases):
    """One look at a host: its releases, the unit of the current one, and what really runs.

    `running` is the release of the unit's process: another one than `current` after a switch without a restart. A process
    whose directory was removed or replaced has none; then `running_gone` is what it was.
    `not_links` is what lies where links to releases belong ({"current": "a directory"}), and links that a switch left.
    `no_state`: the directory with the audit log and the history of loads is missing.
    `unit_digest` is the sha256 of the unit file that is installed, `command` the words of its ExecStart=, `argv` those of
    the process.
    `own_drop_ins` are files that change this very unit, as `systemctl edit` and `set-property` make them; those of all our
    units (ddtree-server@.service.d) are the site's own. `settings` is server.json of the release that was asked for. `files`
    holds drift by release: those that were looked at and have a list of their files.
    For people to compare, where it isn't the release that was asked for: `pins` are the current release's packages with version
    and a digest of their hashes, `release_unit` its unit text; `installed_unit` is the unit file's where it is another one.
    """

    unit: UnitState
    running: str | None
    running_gone: str | None = field(default=None, kw_only=True)
    not_links: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    no_state: bool = field(default=False, kw_only=True)
    unit_digest: str | None
    command: tuple[str, ...] | None = None
    argv: tuple[str, ...] | None = None
    own_drop_ins: tuple[str, ...] = ()
    settings: Mapping[str, Any] | None = None
    files: Mapping[str, FileDrift] = field(default_factory=dict)
    lock: LockHolder | None = None
    dead_man: DeadMan | None = None
    pins: Mapping[str, tuple[str, str]] | None = field(default=None, kw_only=True)
    release_unit: str | None = field(default=None, kw_only=True)
    installed_unit: str | None = field(default=None, kw_only=True)

    @property
    def serving(self) -> str | None:
        """The release that serves; words for one whose directory is gone: there is no way back to it."""
        return self.running_words if self.unit.serving else None

    @property
    def running_words(self) -> str | None:
        """The release of the unit's process, for people."""
        return f"{self.running_gone} (its directory is gone)" if self.running_gone else self.running

    @property
    def serving_here(self) -> str | None:
        """The release that serves, if it is one that a way back can lead to."""
        return self.running if self.unit.serving and self.manifest(self.running) else None

    @property
    def unit_is_edited(self) -> bool:
        """The installed unit file isn't the current release's."""
        manifest = self.manifest(self.current)
        return manifest is not None and self.unit_digest != manifest.content.get("unit_sha256")

    @property
    def runs_otherwise(self) -> bool:
        """The unit's process was started with other arguments than its unit file says."""
        return self.argv is not None and self.command is not None and self.argv != self.command


@dataclass(frozen=True)
class Gpus:
    """What nvidia-smi shows; `problem` is what it says instead, or that it says nothing."""

    rows: tuple[Gpu, ...]
    problem: str | None = None


def audit() -> Command:
    """The audit log of the host, the earlier file first, where there is one."""
    return Command(("cat", f"{places.AUDIT}.1", places.AUDIT), ok=frozenset({0, 1}))


def parse_committed(text: str) -> tuple[str, ...]:
    """The releases that were committed, the latest first; torn lines are left out."""
    found: dict[str, None] = {}
    for line in reversed(text.splitlines()):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
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
        if len(cells) != len(_GPU_FIELDS.split(",")):
            continue
        index, total, used = (whole_number(cells[place]) for place in (0, 2, 3))
        if index is not None and total is not None:
            found.append(Gpu(index, cells[1], total, used or 0, cells[4], cells[5]))
    return tuple(found)
