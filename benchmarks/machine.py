"""On what was measured: machine, versions, load."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any


def describe() -> dict[str, Any]:
    """Processor, memory, kernel, Python, the load before the run, and the commit."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _line("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(_line("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 2),
        "commit": _commit(),
        "versions": {name: metadata.version(name) for name in ("ansible-core", "paramiko", "ansible-runner")},
    }


def show(machine: dict[str, Any], tell: Callable[[str], None]) -> None:
    """Before the first figure: what this is, and whether it is quiet enough to mean anything."""
    keys = ("cpu", "cores", "memory_gib", "kernel", "python", "load", "commit")
    tell("  ".join(f"{key} {machine[key]}" for key in keys))
    tell("  ".join(f"{name} {version}" for name, version in machine["versions"].items()))
    if machine["load"] > 0.5 * machine["cores"]:
        tell(f"WARNING: the load is {machine['load']} on {machine['cores']} cores: something else runs, figures mean little")


def _line(path: str, key: str) -> str:
    for line in Path(path).read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return "0 unknown"


def _commit() -> str:
    here = Path(__file__).parent
    done = subprocess.run(
        ("git", "-C", str(here), "describe", "--always", "--dirty"), capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"
