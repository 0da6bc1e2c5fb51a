"""systemctl, and what a unit's processes tell. Raises HostError where a verb fails."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from pathlib import Path

from .fence import HostError
from .places import Places

SECONDS = 90.0
STOP_SECONDS = 1800.0  # a drain, then the kill of a whole tree; the unit's own TimeoutStopSec= ends it earlier
_UNIT = re.compile(r"ddtree-server@([0-9]{1,5})\.service")


def name(port: int) -> str:
    return f"ddtree-server@{port}.service"


def systemctl(*words: str, seconds: float = SECONDS, check: bool = True) -> str:
    """Its output. Raises HostError with systemctl's own words."""
    try:
        done = subprocess.run(
            ("systemctl", "--no-ask-password", *words), capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostError(f"systemctl {' '.join(words)}: {error}") from error
    if check and done.returncode != 0:
        raise HostError(f"systemctl {' '.join(words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def show(port: int) -> dict[str, str]:
    """ActiveState, SubState, MainPID and InvocationID of a server's unit; an unknown unit is inactive."""
    text = systemctl("show", name(port), "--property=ActiveState,SubState,MainPID,InvocationID", check=False)
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def is_serving(state: dict[str, str]) -> bool:
    return (state.get("ActiveState"), state.get("SubState")) == ("active", "running")


def reload_if_needed(*names: str) -> None:
    """Let systemd read unit files again if it knows them otherwise (a run that was cut off included): that takes 0.1 to 1 s."""
    if "yes" in systemctl("show", *names, "--property=NeedDaemonReload", "--value", check=False).split():
        systemctl("daemon-reload")


def others(places: Places, port: int) -> tuple[int, ...]:
    """Ports of our other units: of files that lie there, and of what systemd still has loaded."""
    listed = systemctl("list-units", "--all", "--plain", "--no-legend", "--full", "ddtree-server@*.service", check=False)
    found = {match[1] for match in map(_UNIT.match, (line.strip() for line in listed.splitlines())) if match}
    with suppress(OSError):
        found |= {match[1] for match in (_UNIT.fullmatch(path.name) for path in places.units.iterdir()) if match}
    return tuple(sorted(int(one) for one in found if int(one) != port))


def running_releases(places: Places) -> frozenset[str]:
    """Releases that a process of our units works in or has its program from."""
    found: set[str] = set()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        with suppress(OSError):
            if not _UNIT.search((process / "cgroup").read_text()):
                continue
            found |= _release_of(places, str((process / "cwd").readlink()), str((process / "exe").readlink()))
    return frozenset(found)


def _release_of(places: Places, *paths: str) -> set[str]:
    """A path that was removed has the ending (proc_pid_cwd(5)): nothing is there to be spared, or to be gone back to."""
    base = f"{places.releases}/"
    there = [path for path in paths if path.startswith(base) and not path.endswith(" (deleted)")]
    return {path[len(base) :].split("/", 1)[0] for path in there}
