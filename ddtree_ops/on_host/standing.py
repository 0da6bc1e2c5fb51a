"""What stands in the way of a deploy, or waits for one: the lock's holder, and the dead-man's orders."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from typing import Any

from .releases import read_object

MOST_SECONDS = 1e10
MOST_BOOTS = 8
MOST_BOOT_BYTES = 64 << 10  # of the history's end; a record has about 1 KiB


def lock(state: str) -> dict[str, Any] | None:
    """The lock file's content while somebody holds it, by flock(2); without that its content means nothing."""
    path = f"{state}/lock"
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # it may be a FIFO
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return read_object(path) or {}
    finally:
        os.close(number)
    return None


def dead_man(state: str) -> dict[str, Any] | None:
    """deadman.json, with `seconds_left` by this boot's clock; null after a reboot, when the deadline is another clock's.

    What can't be read is an object without a release: whoever looks has to know that the file is there.
    """
    path = f"{state}/deadman.json"
    if not os.path.lexists(path):
        return None
    found = read_object(path) or {}
    deadline, boot = found.get("deadline"), found.get("boot_id")
    found["seconds_left"] = None
    # JSON also has NaN, 1e999, and numbers that no float can take.
    this_boot = isinstance(boot, str) and boot.replace("-", "") == _boot_id()
    if this_boot and isinstance(deadline, (int, float)) and abs(deadline) < MOST_SECONDS:
        found["seconds_left"] = round(deadline - time.clock_gettime(time.CLOCK_BOOTTIME), 1)
    return found


def boots(state: str, port: int) -> list[str]:
    """The last records of a port's boot history, oldest first; whoever reads them has to do with torn ones."""
    try:
        number = os.open(f"{state}/boots/{port}.jsonl", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return []
    try:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            return []
        start = max(0, facts.st_size - MOST_BOOT_BYTES)
        lines = os.pread(number, MOST_BOOT_BYTES, start).decode("utf-8", "replace").split("\n")
    except OSError:
        return []
    finally:
        os.close(number)
    return [line for line in lines[1 if start else 0 :] if line][-MOST_BOOTS:]


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return stream.read().strip().replace("-", "")
    except OSError:
        return ""
