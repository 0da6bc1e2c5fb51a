"""Our units as systemd has loaded them, their files, and the processes that run of them."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from typing import Any

from .releases import is_number, read_bytes

SECONDS = 20.0
# Where `systemctl edit` and `systemctl set-property` put what changes one unit; and their --runtime.
DIRECTORIES = ("/etc/systemd/system", "/run/systemd/system", "/etc/systemd/system.control", "/run/systemd/system.control")
MOST_BYTES = 1 << 20
MOST_SHOWN = 64 << 10  # of a unit's text; ours has 7 KiB
TEMPLATE = "ddtree-server@.service"  # a release's own unit text, in its directory
_DELETED = " (deleted)"
_MOVED = re.compile(r"\.replaced-(?P<replaced>.+)-[0-9]+|\.(?:removing|staging)-(?P<other>.+)")


def ask(command: list[str]) -> subprocess.Popen[bytes] | str:
    """Start `systemctl show` of several units; the text says why it can't be."""
    try:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except OSError as error:
        return str(error)


def answers(asked: subprocess.Popen[bytes] | str) -> dict[str, Any]:
    """`{"units": [...], "units_problem": text or null}`: what show says of each, its file's digest and its process."""
    if isinstance(asked, str):
        return {"units": [], "units_problem": asked}
    try:
        out, _ = asked.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        asked.kill()
        return {"units": [], "units_problem": f"systemctl show gave no answer in {SECONDS:.0f} s"}
    text = out.decode("utf-8", "replace")
    if asked.returncode != 0:
        return {"units": [], "units_problem": f"systemctl show: {text.strip()[-300:] or asked.returncode}"}
    blocks = dict.fromkeys(block.strip("\n") for block in text.split("\n\n") if block.strip())
    return {"units": [_unit(block) for block in blocks], "units_problem": None}


def text_of(path: str) -> str | None:
    """A unit's text, to be compared by people."""
    data = read_bytes(path, MOST_SHOWN)
    return data.decode("utf-8", "replace") if data is not None else None


def installed(unit: dict[str, Any]) -> str | None:
    """The text of a server's unit file as systemd has read it; None for other units, and where there is none."""
    path = next((line.partition("=")[2] for line in unit["show"].splitlines() if line.startswith("FragmentPath=")), "")
    return text_of(path) if os.path.basename(path).startswith("ddtree-server@") else None


def _unit(block: str) -> dict[str, Any]:
    values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    pid = values.get("MainPID", "0")
    text = read_bytes(values.get("FragmentPath", ""), MOST_BYTES)
    release, gone = _release(pid) if is_number(pid) and pid != "0" else (None, None)
    return {
        "show": block,
        "drop_ins": _drop_ins(values.get("Id", "")),
        "digest": hashlib.sha256(text).hexdigest() if text is not None else None,
        "command": _command(text or b""),
        "release": release,
        "release_gone": gone,
        "argv": _arguments(pid) if is_number(pid) and pid != "0" else None,
    }


def _drop_ins(unit: str) -> list[str]:
    """The unit's own drop-ins as they lie there: systemd may not have read them yet."""
    found = []
    for place in (f"{directory}/{unit}.d" for directory in DIRECTORIES):
        names = sorted(os.listdir(place)) if os.path.isdir(place) else []
        found += [f"{place}/{name}" for name in names if name.endswith(".conf")]
    return found


def _release(pid: str) -> tuple[str | None, str | None]:
    """The unit starts its process in the release's directory (WorkingDirectory=): the release, or one that is gone.

    A directory that was removed shows as "NAME (deleted)" (proc_pid_cwd(5)); staging renames one that it replaces, and
    pruning one that it removes.
    """
    try:
        directory, name = os.path.split(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return None, None
    if os.path.basename(directory) != "releases":
        return None, None
    whole = name.removesuffix(_DELETED)
    moved = _MOVED.fullmatch(whole)
    if moved:
        return None, moved["replaced"] or moved["other"]
    return (whole, None) if whole == name else (None, whole)


def _arguments(pid: str) -> list[str] | None:
    """/proc/PID/cmdline, proc_pid_cmdline(5): arguments ended by NUL bytes; empty for a process that has just ended."""
    data = read_bytes(f"/proc/{pid}/cmdline", MOST_BYTES)
    return [word.decode("utf-8", "replace") for word in data[:-1].split(b"\0")] if data else None


def _command(text: bytes) -> list[str] | None:
    """The words of ExecStart= in a unit file of ours: one line, nothing quoted, no specifiers."""
    lines = [line for line in text.decode("utf-8", "replace").splitlines() if line.startswith("ExecStart=")]
    return lines[-1].partition("=")[2].split() if lines else None
