"""What lies below /opt/ddtree and /var/lib/ddtree, and which release really runs, as any user of the host may see it.

/proc/PID/cwd, which tells root the release of a process, is closed to others (proc_pid_cwd(5): ptrace access mode). Two
other sources are open to all: the launcher's own record of the run (boots/PORT.jsonl has systemd's InvocationID and the
release), written when the load ended; until then, a process that was started after the link `current` was last moved runs what it
leads to, because the unit's WorkingDirectory= is that link. Where neither says so, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ddtree_ops.exporter.absence import told
from ddtree_ops.fleet import places
from ddtree_ops.ports import Shell
from ddtree_ops.units.json_object import json_object
from ddtree_ops.units.systemctl import UnitState

CURRENT, LAST_GOOD = "current", "last-good"
DEAD_MAN = places.DEAD_MAN.rpartition("/")[2]
_BOOTS_READ = 5
_LONGEST_ID = 128
# GNU find: starting point, type, time of change, path below it, target of a link; each ended by NUL, which no name can hold.
_FORMAT = r"%H\0%y\0%T@\0%P\0%l\0"
_FIELDS = 5
_FOLDERS = (places.RELEASES, places.RELEASES.rpartition("/")[2])  # as links are made: relative


@dataclass(frozen=True, slots=True)
class Installed:
    """`links`: release and time of change (Unix time) by the link's name; a link that leads elsewhere has an empty one.

    `dead_man`: a deploy is armed.
    """

    links: Mapping[str, tuple[str, float]]
    releases: frozenset[str]
    dead_man: bool

    def release(self, link: str) -> str | None:
        """Where a link leads; None without the link, and for what is no release here."""
        name = self.links.get(link, ("", 0.0))[0]
        return name if name in self.releases else None

    def leads_nowhere(self, link: str) -> bool:
        """The link is there, but no release of this host is behind it."""
        return link in self.links and self.release(link) is None


def read(shell: Shell) -> Installed:
    """Links and releases of a host; what isn't there at all is no error. Raises Unreachable, HostCommandFailed."""
    where = (places.ROOT, places.RELEASES, places.STATE)
    return parse_listing(told(shell, "find", *where, "-mindepth", "1", "-maxdepth", "1", "-printf", _FORMAT, seconds=20.0))


def parse_listing(text: str) -> Installed:
    """What find(1) printed. Whatever else lies there is left out."""
    links: dict[str, tuple[str, float]] = {}
    releases, dead_man = set(), False
    words = iter(text.split("\0"))
    for start, kind, changed, name, target in zip(*[words] * _FIELDS, strict=False):
        if len(name) > _LONGEST_ID:
            continue
        if start == places.ROOT and kind == "l" and name in (CURRENT, LAST_GOOD):
            folder, _, release = target.rstrip("/").rpartition("/")
            links[name] = (release if folder in _FOLDERS else "", _number(changed))
        elif start == places.RELEASES and kind == "d" and not name.startswith("."):
            releases.add(name)
        dead_man |= start == places.STATE and name == DEAD_MAN
    return Installed(links, frozenset(releases), dead_man)


def boots(shell: Shell, port: int) -> list[str]:
    """The last records of a port's boots. Raises Unreachable, HostCommandFailed."""
    return told(shell, "tail", "-n", str(_BOOTS_READ), f"{places.BOOTS}/{port}.jsonl").splitlines()


def running(state: UnitState, installed: Installed, records: Iterable[str]) -> str | None:
    """The release of the unit's main process; None without one, and where it can't be known."""
    if not state.main_pid or not state.invocation:
        return None
    recorded = _recorded(state.invocation, records)
    if recorded is not None:
        return recorded if recorded in installed.releases else None
    current, moved = installed.release(CURRENT), installed.links.get(CURRENT, ("", 0.0))[1]
    started = _number(state.main_started.removeprefix("@"))
    # systemd gives whole seconds; nothing starts in the second of a switch but what the switch was made for
    return current if started and started >= int(moved) else None


def _recorded(invocation: str, records: Iterable[str]) -> str | None:
    for line in records:
        record = json_object(line)
        if record is not None and record.get("invocation") == invocation:
            return str(record.get("release"))[:_LONGEST_ID]
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
