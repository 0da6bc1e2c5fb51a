"""When the host goes back by itself: the dead-man's timer, on the clock of everybody.

The orders (deadman.json) say how long it waits; systemd says since when: the timer counts from its own activation, at the arming
and again at a boot (systemd.timer(5), OnActiveSec=). The orders' own deadline belongs to a boot's id, and the exporter can't tell
whether that is this boot: in a container, ProtectKernelTunables= shows it the id of the machine below (systemd.exec(5)).
/proc/uptime counts like the manager's CLOCK_MONOTONIC but for time asleep, which servers don't have (proc(5)).
"""

from __future__ import annotations

import math

from ddtree_ops.fleet import places
from ddtree_ops.ports import Command
from ddtree_ops.units.json_object import json_object
from ddtree_ops.units.whole_number import whole_number

_UPTIME = "/proc/uptime"
_MOST_SECONDS = 1e8
_PAST_SECONDS = 60.0  # so long after it what was told to happen is over, or was never going to
_STATE, _SINCE = "ActiveState", "ActiveEnterTimestampMonotonic"


#: The orders and the uptime, in one answer, and since when the timer counts.
ORDERS = ("tail", "-c", "65536", "-v", _UPTIME, places.DEAD_MAN)
TIMER = Command(("systemctl", "show", places.DEAD_MAN_TIMER, f"--property={_STATE},{_SINCE}"), timeout=10.0)


def parse(text: str, shown: str, now: float) -> float | None:
    """Unix time in whole seconds; None without orders or a timer that counts, and for what lies more than a minute back.

    `text` is of ORDERS, `shown` of TIMER, `now` this machine's Unix time.
    """
    told, uptime = json_object(_part(text, places.DEAD_MAN)), _number(_part(text, _UPTIME).partition(" ")[0])
    unit = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
    since = whole_number(unit.get(_SINCE))
    if told is None or uptime is None or not since or unit.get(_STATE) != "active":
        return None
    waits = told.get("after_s")
    if isinstance(waits, bool) or not isinstance(waits, int | float) or not 0 <= waits < _MOST_SECONDS:
        return None
    deadline = now - uptime + since / 1e6 + waits
    return float(round(deadline)) if deadline >= now - _PAST_SECONDS else None


def _part(text: str, name: str) -> str:
    _, found, rest = text.partition(f"==> {name} <==\n")
    return rest.partition("\n==> ")[0] if found else ""


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
