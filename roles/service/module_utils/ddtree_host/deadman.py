"""The dead-man: switches back to the last good release by itself unless a deploy is committed in time.

Armed before the switch: a record, and a timer of the host's own systemd. It survives a lost controller and a reboot (the load
then begins anew, and so does the time), waits while a controller holds the host's lock, and never looks at the wall clock.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import suppress
from dataclasses import asdict

from . import durable, lock, orders, switching, units
from .fence import HostError, held
from .orders import Damaged, Record, boot_id
from .places import Places

TIMER, SERVICE = "ddtree-deadman.timer", "ddtree-deadman.service"
EARLY_SECONDS = 2.0  # a timer that elapsed this much too soon is taken for right
# What it needs to run.
FILES = ("__init__", "places", "lock", "durable", "fence", "units", "credentials", "switching", "orders", "deadman")

_SERVICE_TEXT = """\
[Unit]
Description=Back to the last good release: a deploy of ddtree-ops was not committed in time
ConditionPathExists={record}
After=multi-user.target

[Service]
Type=oneshot
WorkingDirectory={program}
ExecStart={python} -m ddtree_host.deadman
# it waits while a controller holds the host
TimeoutStartSec=infinity
"""
_TIMER_TEXT = """\
[Unit]
Description=Dead-man of a deploy of ddtree-ops: back to the last good release

[Timer]
OnActiveSec={seconds}s
AccuracySec=1s

[Install]
WantedBy=timers.target
"""


def is_armed(places: Places) -> bool:
    """Damaged orders count."""
    return orders.exist(places)


def arm(places: Places, release: str, port: int, back_to: str | None, after_s: int, by: str, python: str) -> Record:
    """Before the switch. Also for a deploy that takes up an earlier one's. Raises HostError, OSError."""
    switching.check(places, release, port)
    if back_to not in (None, release):  # one that isn't here (any more) is no way back
        back_to = _way_back(places, release, back_to)
    record = Record(
        release=release,
        port=port,
        back_to=back_to,
        after_s=after_s,
        armed_at=lock.now(),
        boot_id=boot_id(),
        deadline=time.clock_gettime(time.CLOCK_BOOTTIME) + after_s,
        invocation=units.show(port).get("InvocationID", ""),
        by=by,
    )
    texts = {
        SERVICE: _SERVICE_TEXT.format(record=places.deadman, program=places.program, python=python),
        TIMER: _TIMER_TEXT.format(seconds=after_s),
    }
    for name, text in texts.items():
        durable.write(places.units / name, text)
    _start_at_boot(places)
    durable.write(places.deadman, json.dumps(asdict(record), indent=1) + "\n")
    units.reload_if_needed(TIMER, SERVICE)
    units.systemctl("restart", TIMER)  # began before: counts from now on
    return record


def _start_at_boot(places: Places) -> None:
    wants = places.units / "timers.target.wants"
    wants.mkdir(exist_ok=True)
    durable.link(wants / TIMER, str(places.units / TIMER))


def disarm(places: Places) -> bool:
    """Whether it was armed. The record goes first: without it nothing fires. Raises OSError, HostError."""
    try:
        was = durable.remove(places.deadman)
    except IsADirectoryError:
        durable.set_aside(places.deadman)
        was = True
    link = places.units / "timers.target.wants" / TIMER
    if was or link.is_symlink():
        durable.remove(link)
        units.systemctl("stop", TIMER, check=False)
        return True
    return False


def main() -> int:
    """Run by systemd when the time is over, or when the server's unit has failed for good."""
    places = Places()
    try:
        # A controller that is there decides for itself; if it goes away while we wait, we are next.
        with held(places, "dead-man", seconds=None):
            sys.stdout.write(f"ddtree dead-man: {fire(places)}\n")
    except (HostError, OSError) as error:
        sys.stdout.write(f"ddtree dead-man: it can't go back: {error}\n")
        return 1
    return 0


def fire(places: Places) -> str:
    """What was done, in words; also a line in the audit log. Repeated safely. Raises HostError, OSError."""
    try:
        record = orders.read(places)
    except Damaged as damage:
        return _fire_blindly(places, damage)
    if record is None:
        disarm(places)
        return "nothing to do: the deploy was committed or undone"
    state = units.show(record.port)
    if record.seconds_left() > EARLY_SECONDS and state.get("ActiveState") != "failed":
        return f"not yet: {record.seconds_left():.0f} s are left"
    if places.linked("last-good") == record.release:
        disarm(places)  # its commit was cut off after what counts
        return f"nothing to do: {record.release} is the last good release"
    asked = record.back_to not in (None, record.release)
    target = _way_back(places, record.release, record.back_to) if asked else None
    if target is None:
        done = _without_target(record, state)
    else:
        late = f"{record.release} was not committed in {record.after_s} s"
        done = f"{late}{_back(places, target, state)}"
    _note(places, record.release, target, record.by, done)
    disarm(places)
    return done


def _fire_blindly(places: Places, damage: Damaged) -> str:
    """Without orders that can be believed; they are kept beside, for whoever wants to know."""
    current = places.linked("current")
    what = f"{places.deadman} is damaged ({damage}), so a deploy was armed and its end is unknown; "
    target = _way_back(places, current, None)
    if target is None:
        done = f"{what}there is no other good release than {current}: left as it is"
    else:
        port = _port(places, current) or switching.port_of(places, target)
        done = f"{what}{current or 'no release'} was not committed{_back(places, target, units.show(port))}"
    _note(places, current, target, "", done)
    durable.set_aside(places.deadman)
    disarm(places)
    return done


def _way_back(places: Places, release: str | None, wanted: str | None) -> str | None:
    """What was asked for, else the last good release: the first that is here and is another one."""
    for target in (wanted, places.linked("last-good")):
        if target is not None and target != release and _port(places, target) is not None:
            return target
    return None


def _port(places: Places, release: str | None) -> int | None:
    with suppress(HostError):
        return switching.port_of(places, release or "")
    return None


def _note(places: Places, release: str | None, target: str | None, by: str, done: str) -> None:
    """A full disk must not keep the dead-man from its end: the journal has the same words."""
    line = {"event": "dead-man", "release": release, "back_to": target, "by": by, "result": done}
    with suppress(OSError):
        lock.audit(str(places.audit), line)


def _without_target(record: Record, state: dict[str, str]) -> str:
    if units.is_serving(state):
        return f"{record.release} serves uncommitted, and there is no other good release: left as it is"
    units.systemctl("disable", "--now", units.name(record.port), seconds=units.STOP_SECONDS, check=False)
    return f"{record.release} does not serve, and there is no other good release: stopped"


def _back(places: Places, target: str, state: dict[str, str]) -> str:
    """`state` is that of the current release's unit. What was done, to be read after a reason. Raises HostError, OSError."""
    port = switching.port_of(places, target)
    there = units.show(port)
    switching.switch(places, target, port)
    if units.is_serving(there) and target in units.running_releases(places):
        return f", and {target} still serves: only the link was put back"
    if state.get("ActiveState") == there.get("ActiveState") == "inactive":
        return f"; the server was stopped and stays so, current is {target}"
    switching.clear_others(places, port)
    units.systemctl("restart", "--no-block", units.name(port))
    return f": {target} is started again"


if __name__ == "__main__":
    sys.exit(main())
