"""The dead-man's orders, /var/lib/ddtree/deadman.json: whether there are any, and whether they can be believed."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from . import durable, switching
from .places import Places

SCHEMA = "ddtree-ops/deadman/v1"
LONGEST_SECONDS = 366 * 86400
CLOCK_SECONDS = 2.0  # rounding, and clocks that are read one after the other
_LONGEST_NAME = 255


class Damaged(Exception):
    """There are orders, but not such as are ever written; the message says how they differ."""


@dataclass(frozen=True)
class Record:
    """`deadline` counts on CLOCK_BOOTTIME of the boot `boot_id`.

    `invocation` is the run of the unit when it was armed: while the unit still shows it, the switch was followed by no restart.
    """

    release: str
    port: int
    back_to: str | None
    after_s: int
    armed_at: str
    boot_id: str
    deadline: float
    invocation: str
    by: str
    schema: str = SCHEMA

    def seconds_left(self) -> float:
        """Until it is due; after a reboot the time began with the boot."""
        uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
        return (self.deadline if self.boot_id == boot_id() else float(self.after_s)) - uptime


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def exist(places: Places) -> bool:
    """Damaged ones count: a deploy was armed."""
    return os.path.lexists(places.deadman)


def read(places: Places) -> Record | None:
    """None: not armed. Raises Damaged."""
    if not exist(places):
        return None
    content = durable.read(places.deadman)
    if content is None:
        raise Damaged("no JSON object")
    wanted = {one.name for one in fields(Record)}
    if content.keys() != wanted:
        raise Damaged(f"other keys than {', '.join(sorted(wanted))}")
    for key, value in content.items():
        if not _is_sound(key, value):
            raise Damaged(f"{key} is {ascii(value)[:80]}")
    record = Record(**content)
    if record.seconds_left() > record.after_s + CLOCK_SECONDS:
        raise Damaged(f"the deadline is further away than {record.after_s} s")
    return record


def _is_sound(key: str, value: Any) -> bool:
    if key == "port":
        return switching.is_port(value)
    if key == "after_s":
        return type(value) is int and 0 < value <= LONGEST_SECONDS
    if key == "deadline":
        return _is_number(value)
    if key == "schema":
        return bool(value == SCHEMA)
    if key == "back_to" and value is None:
        return True
    return isinstance(value, str) and (key not in ("release", "back_to") or _is_name(value))


def _is_number(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # an integer beyond all floating point numbers
        return False


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NAME and text.isprintable() and "/" not in text and not text.startswith(".")
