"""Keeps the journal of a failed run, so that neither a restart nor the journal's rotation loses the first crash.

The unit calls it after every stop (ExecStopPost=, as root). systemd says how the run ended: $SERVICE_RESULT is `success`
or what failed, $INVOCATION_ID names the run (systemd.exec(5), "Environment Variables Set or Propagated by the Service
Manager"). Kept is raw text in journalctl's export format: a newer ddtree-ops may know more of it than today's.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

DIRECTORY = Path("/var/lib/ddtree/crashes")
READERS = "systemd-journal"
KEPT = 20
ENTRIES = 20_000  # the newest; a start of eight ranks writes about 2,000
SYNC_SECONDS, READ_SECONDS = 5, 20
#: What ddtree-ops reads of an entry (ddtree_ops/triage/entry.py, OUTPUT_FIELDS); the rest would double the size.
FIELDS = "MESSAGE,PRIORITY,UNIT,INVOCATION_ID,_PID,_COMM,_TRANSPORT,_SYSTEMD_UNIT,_SYSTEMD_INVOCATION_ID,_LINE_BREAK"
_ID = re.compile(r"[0-9a-f]{32}")


def main() -> int:
    """Exit 0 also where nothing was kept: a unit must not fail over its own post-mortem."""
    parser = argparse.ArgumentParser(prog="python -m sglang_ddtree.keep_crash")
    parser.add_argument("--unit", required=True)
    parser.add_argument("--directory", type=Path, default=DIRECTORY)
    options = parser.parse_args()
    try:
        kept = keep(options.unit, options.directory, os.environ)
    except (OSError, subprocess.SubprocessError) as error:
        print(f"ddtree: this run's journal was not kept: {error}", file=sys.stderr)
        return 0
    if kept:
        print(f"ddtree: kept the journal of this failed run as {kept}", file=sys.stderr)
    return 0


def keep(unit: str, directory: Path, environment: Mapping[str, str]) -> Path | None:
    """Write the run's journal if it failed; the file, or None. Raises OSError, subprocess.SubprocessError."""
    invocation = environment.get("INVOCATION_ID", "")
    if environment.get("SERVICE_RESULT", "success") == "success" or not _ID.fullmatch(invocation):
        return None
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    _share(directory, 0o750)
    subprocess.run(("journalctl", "--sync"), check=False, timeout=SYNC_SECONDS)
    name = f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{invocation}.export.gz"
    target = directory / name
    temporary = directory / f".{name}"
    try:
        _write(_command(unit, invocation, _began(unit)), temporary)
        _share(temporary, 0o640)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _forget_oldest(directory)
    return target


def _share(path: Path, mode: int) -> None:
    """For those who may read the journal itself, like the exporter; root's alone where there is no such group."""
    try:
        shutil.chown(path, group=READERS)
        path.chmod(mode)
    except (LookupError, PermissionError):
        pass


def _began(unit: str) -> str:
    """When the run began, as systemctl prints it and journalctl reads it; empty if unknown."""
    argv = ("systemctl", "show", "--property=InactiveExitTimestamp", "--value", unit)
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=SYNC_SECONDS).stdout.strip()


def _command(unit: str, invocation: str, since: str) -> tuple[str, ...]:
    """The run's own lines, the manager's about it, and what the kernel complained of meanwhile."""
    own = (f"_SYSTEMD_UNIT={unit}", f"_SYSTEMD_INVOCATION_ID={invocation}")
    manager = ("_PID=1", f"UNIT={unit}", f"INVOCATION_ID={invocation}")
    kernel = (
        "_TRANSPORT=kernel",
        "PRIORITY=0",
        "PRIORITY=1",
        "PRIORITY=2",
        "PRIORITY=3",
        "PRIORITY=4",
        "PRIORITY=5",
    )
    options = ("--quiet", "--no-pager", "--boot", "--output=export", f"--output-fields={FIELDS}", f"--lines={ENTRIES}")
    if not since:  # without a time the kernel's whole boot would come
        return ("journalctl", *options, *own, "+", *manager)
    return ("journalctl", *options, f"--since={since}", *own, "+", *manager, "+", *kernel, "+", "_TRANSPORT=audit")


def _write(command: tuple[str, ...], path: Path) -> None:
    """Raises OSError, CalledProcessError where journalctl fails. What it gave until its time was over is kept."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process, gzip.open(file, "wb", compresslevel=3) as packed:
            assert process.stdout is not None
            limit = threading.Timer(READ_SECONDS, process.kill)
            limit.start()
            try:
                while chunk := process.stdout.read(1 << 16):
                    packed.write(chunk)
            finally:
                limit.cancel()
        if process.returncode not in (0, -signal.SIGKILL):
            raise subprocess.CalledProcessError(process.returncode, command[0])
        file.flush()
        os.fsync(file.fileno())


def _forget_oldest(directory: Path) -> None:
    """Beyond the newest 20, and what a killed run left half written."""
    found = sorted(path for path in directory.iterdir() if path.name.endswith(".export.gz"))
    whole = [path for path in found if not path.name.startswith(".")]
    for path in (*whole[:-KEPT], *(path for path in found if path.name.startswith("."))):
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
