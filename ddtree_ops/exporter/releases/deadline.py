"""When the host goes back by itself: the dead-man's orders (deadman.json), on the clock of everybody.

They hold a deadline on CLOCK_BOOTTIME and the boot that it belongs to. After a reboot the time begins anew with the timer, which
starts with the system; /proc/uptime counts as that clock does (proc(5); Linux fs/proc/uptime.c).
"""

from __future__ import annotations

import math

from ddtree_ops.fleet import places
from ddtree_ops.ports import Command
from ddtree_ops.units.json_object import json_object

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_UPTIME = "/proc/uptime"
_MOST_SECONDS = 1e10


def command() -> Command:
    """The orders and both facts of the kernel, in one answer. A file that has just gone is no error."""
    argv = ("tail", "-c", "65536", "-v", _BOOT_ID, _UPTIME, places.DEAD_MAN)
    return Command(argv, ok=frozenset({0, 1}), timeout=10.0, most_bytes=1 << 18)


def parse(text: str, now: float) -> float | None:
    """Unix time in whole seconds; None without orders, and for damaged ones. `now` is this machine's Unix time."""
    parts = {_BOOT_ID: "", _UPTIME: "", places.DEAD_MAN: ""}
    for name in parts:
        _, found, rest = text.partition(f"==> {name} <==\n")
        parts[name] = rest.partition("\n==> ")[0] if found else ""
    orders, uptime = json_object(parts[places.DEAD_MAN]), _number(parts[_UPTIME].partition(" ")[0])
    if orders is None or uptime is None:
        return None
    booted = now - uptime
    same_boot = str(orders.get("boot_id", "")).replace("-", "") == parts[_BOOT_ID].strip().replace("-", "")
    left = orders.get("deadline") if same_boot else orders.get("after_s")
    if isinstance(left, bool) or not isinstance(left, int | float) or not 0 <= left < _MOST_SECONDS:
        return None
    return float(round(booted + left))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
