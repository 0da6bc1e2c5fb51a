"""Look at a GPU host before anything is changed on it, and say what would stop a deploy.

One program, two callers: role preflight gives it on standard input (`python3 - JSON`), the controller as an argument
(`python3 -c TEXT JSON`). It runs on the host, as root, with the standard library only, and ends within a minute whatever
hangs. JSON is an object: gpus {count, names, memory_mib, compute_cap} or {}, python, root, release (its id), free_mib, port,
now (the controller's time, seconds since 1970).
The answer on standard output is {"findings": [{"check", "found", "expected", "fix"}]}.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LISTEN = "0A"  # st of a listening socket in /proc/net/tcp, proc(5)
PROGRAM_TIMEOUT_S = 15.0
PYTHON_MINIMUM = (3, 11)
SYSTEMD_MINIMUM = 250  # LoadCredential= came with 247; nothing older than 252 (Debian 12) was tried
CLOCK_SKEW_S = 120.0  # more, and logs can't be compared, TLS and tokens fail in odd ways
MEMORY_TOLERANCE = 0.02  # drivers reserve a little more or less of it


@dataclass(frozen=True)
class Finding:
    """One reason not to deploy."""

    check: str
    found: str
    expected: str
    fix: str


def run(*argv: str) -> tuple[int, str]:
    """Exit status and output of a program; 127 and the reason if it can't be started, 124 if it hangs."""
    try:
        # No `with`: it would wait for a program that hangs inside the driver, where nothing kills it.
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        return 127, str(error)
    try:
        out, err = process.communicate(timeout=PROGRAM_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return 124, f"no answer in {PROGRAM_TIMEOUT_S:.0f} s"
    shown = out if process.returncode == 0 else out + err
    return process.returncode, shown.decode(errors="replace")


def one_line(text: str, limit: int = 300) -> str:
    """Fit for a message: one line, nothing that a terminal would obey."""
    return "".join(letter for letter in " ".join(text.split()) if letter.isprintable())[:limit]


def check_gpus(want: dict[str, Any]) -> list[Finding]:
    """The host's GPUs are the profile's: number, name (one of several), memory (MiB, within 2 %), compute capability."""
    if not want:
        return []
    names = " or ".join(want["names"])
    expected = f"{want['count']} x {names}, {want['memory_mib']} MiB, compute capability {want['compute_cap']}"
    status, out = run("nvidia-smi", "--query-gpu=index,name,memory.total,compute_cap", "--format=csv,noheader,nounits")
    if status != 0:
        fix = "install or repair the NVIDIA driver (R580 or newer); after a lost GPU (Xid in the kernel log) reboot"
        return [Finding("gpus", f"no GPU can be used: nvidia-smi: {one_line(out) or status}", expected, fix)]
    rows = [[cell.strip() for cell in line.split(",")] for line in out.splitlines() if line.strip()]
    wrong = [row for row in rows if not gpu_matches(row, want)]
    if len(rows) == want["count"] and not wrong:
        return []
    others = one_line("; ".join(", ".join(row) for row in wrong[:8]))
    found = f"{len(rows)} GPUs" + (f", of which differ: {others}" if wrong else f": {one_line(indexes(rows))}")
    fix = "choose the hardware profile that fits this host (ddtree_hardware), or look for a lost GPU in the kernel log (Xid)"
    return [Finding("gpus", found, expected, fix)]


def gpu_matches(row: list[str], want: dict[str, Any]) -> bool:
    if len(row) != 4 or row[1] not in want["names"] or row[3] != str(want["compute_cap"]) or not row[2].isdigit():
        return False
    memory = int(want["memory_mib"])
    return abs(int(row[2]) - memory) <= memory * MEMORY_TOLERANCE


def indexes(rows: list[list[str]]) -> str:
    return "index " + ", ".join(row[0] for row in rows) if rows else "none"


def check_python(python: str) -> list[Finding]:
    """The release's interpreter exists, is new enough, and can make virtual environments."""
    wanted = ".".join(map(str, PYTHON_MINIMUM))
    fix = f"install Python {wanted} or newer with its venv module (Debian: python3-venv), or set runtime.python"
    # Finding the modules is enough: importing them takes longer than all the rest.
    code = (
        "import sys; from importlib.util import find_spec; print(*sys.version_info[:2]); "
        "sys.exit(' '.join(['it lacks', *missing]) if (missing := [n for n in ('venv', 'ensurepip') if not find_spec(n)]) else 0)"
    )
    status, out = run(python, "-c", code)
    if status != 0:
        expected = f"Python {wanted} or newer with venv and ensurepip"
        return [Finding("python", f"{python}: {one_line(out)}", expected, fix)]
    version = tuple(int(part) for part in out.split())
    if version < PYTHON_MINIMUM:
        return [Finding("python", f"{python} is {'.'.join(map(str, version))}", f"{wanted} or newer", fix)]
    return []


def check_disk(root: str, release: str, free_mib: int) -> list[Finding]:
    """Enough free space (MiB) where releases go, unless this one is there already; `root` itself may not exist yet."""
    place = Path(root)
    if (place / "releases" / release / "manifest.json").is_file():
        return []
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free // 2**20
    if free >= free_mib:
        return []
    fix = "remove old releases (ddtree-ops releases) or enlarge the file system"
    return [Finding("disk", f"{free} MiB free at {place}", f"{free_mib} MiB", fix)]


def check_systemd() -> list[Finding]:
    """systemd runs and is new enough for the unit and for our way of asking it."""
    status, out = run("systemctl", "--version")
    match = re.match(r"systemd (\d+)", out)
    if status == 0 and match and int(match[1]) >= SYSTEMD_MINIMUM:
        return []
    found = one_line(out, 80) or "no systemd"
    return [Finding("systemd", found, f"systemd {SYSTEMD_MINIMUM} or newer", "use a host with a newer distribution")]


def check_port(port: int) -> list[Finding]:
    """Nobody but our own unit listens on the port."""
    sockets = listening_inodes(port)
    holders = processes_with(sockets) if sockets else []
    fix = "stop what listens there, or give this server another port (ddtree_serving.port)"
    if sockets and not holders:
        return [Finding("port", f"port {port} is taken by a process out of sight", "a free port", fix)]
    for pid in holders:
        cgroup = read(f"/proc/{pid}/cgroup")
        if not is_of_unit(cgroup, f"ddtree-server@{port}.service"):
            command = one_line(read(f"/proc/{pid}/cmdline").replace("\0", " "), 120)
            place = one_line(cgroup.rsplit("/", 1)[-1], 80) or "no unit"
            fix = f"stop it (systemctl status {pid}), or give this server another port (ddtree_serving.port)"
            return [Finding("port", f"port {port} is taken by pid {pid} ({command}) of {place}", "a free port", fix)]
    return []


def is_of_unit(cgroup: str, unit: str) -> bool:
    """Whether /proc/PID/cgroup names the unit as a control group: its main process and all that it started."""
    return any(unit in line.split(":", 2)[-1].split("/") for line in cgroup.splitlines())


def listening_inodes(port: int) -> set[str]:
    """Inodes of the sockets that listen on a TCP port, from /proc/net/tcp and tcp6."""
    lines = [line.split() for table in ("tcp", "tcp6") for line in read(f"/proc/net/{table}").splitlines()[1:]]
    return {line[9] for line in lines if line[3] == LISTEN and int(line[1].rsplit(":", 1)[1], 16) == port}


def processes_with(inodes: set[str]) -> list[int]:
    """Processes that hold one of these sockets open, lowest pid first."""
    targets = {f"socket:[{inode}]" for inode in inodes}
    running = sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in running if targets & open_files(pid)]


def open_files(pid: int) -> set[str]:
    """What a process's file descriptors point to; nothing if it has just gone."""
    try:
        return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return set()


def read(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def check_clock(controller: float) -> list[Finding]:
    """Both clocks agree."""
    ahead = time.time() - controller
    if abs(ahead) <= CLOCK_SKEW_S:
        return []
    found = f"the host's clock is {abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} the controller's"
    fix = "start a time service (chrony or systemd-timesyncd)"
    return [Finding("clock", found, f"at most {CLOCK_SKEW_S:.0f} s apart", fix)]


def findings(want: dict[str, Any]) -> list[Finding]:
    return [
        *check_gpus(want["gpus"]),
        *check_python(want["python"]),
        *check_disk(want["root"], want["release"], want["free_mib"]),
        *check_systemd(),
        *check_port(want["port"]),
        *check_clock(want["now"]),
    ]


if __name__ == "__main__":
    json.dump({"findings": [asdict(finding) for finding in findings(json.loads(sys.argv[1]))]}, sys.stdout)
