"""Where releases and models lie. All of it in a process aside: a file system that is gone lets its callers hang."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from .catalogue import finding
from .finding import Finding
from .host import Host
from .wanted import Wanted

INODES = 50_000  # SGLang with its CUDA libraries; releases share files, and with them inodes
# Types of /proc/self/mountinfo whose bytes come over a network or through a program.
_REMOTE = ("nfs", "cifs", "smb", "fuse", "9p", "ceph", "lustre", "gpfs", "beegfs", "glusterfs", "virtiofs", "afs")


def look(want: Wanted, host: Host) -> dict[str, Any]:
    """Space where releases go and whether the release is there; each model's file system. JSON."""
    place = want.root
    while place != "/" and not host.exists(place):
        place = os.path.dirname(place)
    space = host.space(place)
    return {
        "place": place,
        "staged": host.exists(f"{want.place}/manifest.json"),
        "space": [space.free, space.inodes, space.free_inodes] if space else None,
        "read_only": "ro" in mount(host, host.real(place))[2],
        "models": {path: mount(host, host.real(path))[:2] for path in want.models if host.exists(path)},
    }


def check(want: Wanted, seen: dict[str, Any]) -> Iterator[Finding]:
    """Of what look() saw."""
    place = seen["place"]
    if seen["space"] and not seen["staged"]:
        free, inodes, free_inodes = seen["space"]
        if free >> 20 < want.free_mib:
            evidence = [f"statvfs {place}: {free} bytes"]
            yield finding("disk", f"{free >> 20} MiB free at {place}", f"{want.free_mib} MiB", evidence=evidence)
        if inodes and free_inodes < INODES:
            evidence = [f"statvfs {place}: {free_inodes} of {inodes} inodes"]
            yield finding("inodes", f"{free_inodes} inodes free at {place}", str(INODES), evidence=evidence)
    if seen["read_only"]:
        fix = "mount it for writing; after an error of the disk see the kernel log first"
        yield finding(
            "disk", f"{place} can't be written", "a file system for writing", fix=fix, evidence=["/proc/self/mountinfo: ro"]
        )
    for path, (point, kind) in seen["models"].items():
        if kind.startswith(_REMOTE) or kind == "zfs":
            evidence = [f"/proc/self/mountinfo: {point} {kind}"]
            yield finding("disk_free_fs", f"{path} is on {kind} ({point})", "local ext4 or xfs", evidence=evidence)


def mount(host: Host, path: str) -> tuple[str, str, tuple[str, ...]]:
    """Mount point, type and options of the file system that a path is on, proc_pid_mountinfo(5)."""
    best: tuple[str, str, tuple[str, ...]] = ("", "", ())
    for line in host.read("/proc/self/mountinfo", 4 << 20).splitlines():
        head, _, tail = line.partition(" - ")
        fields, kinds = head.split(" "), tail.split(" ")
        if len(fields) < 6 or len(kinds) < 3:
            continue
        point = fields[4].replace("\\040", " ")
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kinds[0], tuple({*fields[5].split(","), *kinds[2].split(",")}))
    return best
