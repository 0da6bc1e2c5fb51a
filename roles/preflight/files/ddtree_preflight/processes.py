"""The host's processes, as far as they matter: who listens, who is on the GPUs, what is left of dead servers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .finding import one_line
from .host import Host

LISTEN = "0A"  # st of a listening socket in /proc/net/tcp, proc(5)
OUR_UNIT = re.compile(r"ddtree-server@[0-9]{1,5}\.service")
RANK = "sglang::"  # SGLang's ranks and workers name themselves so (setproctitle)
_ROOT_PID = 1


@dataclass(frozen=True)
class Scan:
    """`ranks`: pids of processes called `sglang::...` with parent and command. `holders`: who has the port open."""

    listening: bool
    holders: tuple[int, ...]
    ranks: tuple[tuple[int, int, str], ...]
    names: frozenset[str]


def scan(host: Host, port: int) -> dict[str, object]:
    """Everything that walks through /proc, as JSON: a process that hangs may let its reader hang, too."""
    inodes = listening_inodes(host, port)
    pids = sorted(int(name) for name in host.names("/proc") if name.isascii() and name.isdigit())
    ranks, names = [], set()
    for pid in pids:
        name = host.read(f"/proc/{pid}/comm", 64).strip()
        names.add(name)
        if name.startswith(RANK) or host.read(f"/proc/{pid}/cmdline", len(RANK)) == RANK:
            ranks.append((pid, parent(host, pid), command(host, pid)))
    holders = [pid for pid in pids if _holds(host, pid, inodes)] if inodes else []
    return {"listening": bool(inodes), "holders": holders, "ranks": ranks, "names": sorted(names)}


def listening_inodes(host: Host, port: int) -> set[str]:
    """Inodes of the sockets that listen on a TCP port, from /proc/net/tcp and tcp6."""
    tables = (host.read(f"/proc/net/{table}", 16 << 20) for table in ("tcp", "tcp6"))
    lines = [line.split() for text in tables for line in text.splitlines()[1:]]
    ours = f":{port:04X}"
    return {line[9] for line in lines if len(line) > 9 and line[3] == LISTEN and line[1].endswith(ours)}


def _holds(host: Host, pid: int, inodes: set[str]) -> bool:
    targets = {f"socket:[{inode}]" for inode in inodes}
    return any(host.link(f"/proc/{pid}/fd/{number}") in targets for number in host.names(f"/proc/{pid}/fd"))


def read(value: dict[str, object]) -> Scan:
    """What scan() answered, with its types again."""
    holders, ranks, names = value["holders"], value["ranks"], value["names"]
    assert isinstance(holders, list) and isinstance(ranks, list) and isinstance(names, list)  # noqa: S101
    found = tuple((int(pid), int(above), str(words)) for pid, above, words in ranks)
    return Scan(bool(value["listening"]), tuple(int(pid) for pid in holders), found, frozenset(map(str, names)))


def cgroup(host: Host, pid: int) -> str:
    return host.read(f"/proc/{pid}/cgroup", 1 << 16)


def unit_of(text: str) -> str:
    """The last part of a process's control group: mostly its unit."""
    return text.strip().rsplit("/", 1)[-1]


def is_ours(host: Host, pid: int) -> bool:
    """Whether a process belongs to one of our servers' units: it goes when the unit stops."""
    return any(OUR_UNIT.fullmatch(part) for line in cgroup(host, pid).splitlines() for part in line.split(":", 2)[-1].split("/"))


def is_of_unit(text: str, unit: str) -> bool:
    """Whether /proc/PID/cgroup names the unit as a control group: its main process and all that it started."""
    return any(unit in line.split(":", 2)[-1].split("/") for line in text.splitlines())


def parent(host: Host, pid: int) -> int:
    found = re.search(r"^PPid:\s*([0-9]{1,9})$", host.read(f"/proc/{pid}/status", 1 << 14), re.MULTILINE)
    return int(found[1]) if found else 0


def command(host: Host, pid: int) -> str:
    return one_line(host.read(f"/proc/{pid}/cmdline", 1 << 12).replace("\0", " "), 120)


def is_orphan(host: Host, above: int) -> bool:
    """Whether a parent is only the one that takes in orphans: PID 1, or a user's systemd."""
    return above in (0, _ROOT_PID) or host.read(f"/proc/{above}/comm", 64).strip() == "systemd"
