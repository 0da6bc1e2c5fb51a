"""Runs inside a lab host (`python3 - PORT < look_inside.py`); prints as JSON what serves there and what is left of a deploy."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path("/opt/ddtree")
STATE = Path("/var/lib/ddtree")
UNITS = Path("/etc/systemd/system")
PROMPT = {"text": "The capital of France is", "sampling_params": {"temperature": 0, "max_new_tokens": 8}}
ANSWER_SECONDS = 20


def links() -> dict[str, str]:
    """`current` and `last-good`: name of the release that each leads to."""
    return {path.name: path.readlink().name for path in sorted(ROOT.glob("*")) if path.is_symlink()}


def releases() -> list[str]:
    """Whole releases: those with a manifest."""
    return sorted(path.parent.name for path in ROOT.glob("releases/*/manifest.json") if not path.parent.name.startswith("."))


def half_made() -> list[str]:
    """What only an interrupted run leaves: staging directories, releases without manifest, temporary files, dead links."""
    partial = [path for path in ROOT.glob("releases/*") if path.name.startswith(".") or not (path / "manifest.json").is_file()]
    hidden = (*ROOT.glob(".*"), *STATE.glob(".*"), *UNITS.glob(".*"), *UNITS.glob("*.wants/.*"))
    named = [path for path in (*ROOT.glob("*"), *STATE.glob("*")) if path.suffix in (".tmp", ".new", ".part")]
    waiting = ROOT.glob("releases/*/credentials.next")
    modules = (Path.home() / ".ansible" / "tmp").glob("*")
    dead = [path for path in ROOT.glob("*") if path.is_symlink() and not path.exists()]
    found = {str(path) for path in (*partial, *hidden, *named, *waiting, *modules, *dead)}
    return sorted(path for path in found if not path.endswith(".lock"))  # what flock(2) needs stays


def armed() -> list[str]:
    """What is left of a dead-man: timers that will go off, or would after a reboot, and its record."""
    shown = run("systemctl", "list-units", "--all", "--type=timer,service", "--plain", "--no-legend", "ddtree-deadman.*")
    active = [line.split()[0] for line in shown.splitlines() if line.split()[2:3] in (["active"], ["activating"])]
    files = [*UNITS.glob("*.wants/ddtree-deadman.*"), *STATE.glob("deadman.json")]
    return sorted({*active, *(path.name for path in files)})


def lock_holders() -> list[str]:
    """Command lines of those who hold the deploy lock (a flock on a file named lock*), or `unknown`."""
    found = []
    for path in STATE.glob("lock*"):
        file = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            inode = str(path.stat().st_ino)
            rows = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
            pids = [row[4] for row in rows if "->" not in row and row[5].rsplit(":", 1)[-1] == inode]
            found += [command_line(pid) or pid for pid in pids] or ["unknown"]
        finally:
            os.close(file)
    return found


def unit(port: str) -> dict[str, str]:
    """What systemd says of the server, and the release that its process runs."""
    names = "ActiveState,SubState,MainPID,UnitFileState,NRestarts,InvocationID"
    shown = run("systemctl", "show", f"ddtree-server@{port}.service", f"--property={names}")
    found = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    try:
        found["release"] = Path(f"/proc/{found['MainPID']}/cwd").readlink().name if found["MainPID"] != "0" else ""
    except OSError:
        found["release"] = ""
    return found


def strays() -> list[str]:
    """What still runs below a login: commands of a controller that is gone.

    Followers of the journal are left out: they only read, and on a network that fell silent sshd ends them when TCP gives up.
    """
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                name, _, rest = (entry / "stat").read_text().partition(") ")
            except OSError:
                continue
            names[entry.name], parents[entry.name] = name.partition("(")[2], rest.split()[1]
    ours = (command_line(pid) for pid in names if names[pid] != "sshd" and below_sshd(pid, parents, names))
    return sorted(command for command in ours if not command.startswith("journalctl "))


def below_sshd(pid: str, parents: dict[str, str], names: dict[str, str]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if names.get(pid) == "sshd":
            return True
    return False


def command_line(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()[:200]
    except OSError:
        return ""


def answer(port: str) -> str:
    """Text of a real generation, or why there is none."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/generate", json.dumps(PROMPT).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as response:  # noqa: S310
            return str(json.load(response)["text"])
    except (OSError, ValueError, KeyError) as error:
        return f"none: {error}"


def run(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30).stdout


def main(port: str) -> None:
    shown: dict[str, Any] = {
        "links": links(),
        "releases": releases(),
        "half_made": half_made(),
        "armed": armed(),
        "lock_holders": lock_holders(),
        "unit": unit(port),
        "strays": strays(),
        "answer": answer(port),
    }
    json.dump(shown, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
