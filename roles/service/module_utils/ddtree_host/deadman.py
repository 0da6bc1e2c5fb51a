"""The dead-man: switches back to the last good release by itself unless a deploy is committed in time.

Armed before the switch: a record, and a timer of the host's own systemd. It survives a lost controller and a reboot (the load
then begins anew, and so does the time), waits while a controller holds the host's lock, and never looks at the wall clock.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from . import durable, lock, switching, units
from .fence import held
from .places import Places

SCHEMA = "ddtree-ops/deadman/v1"
TIMER, SERVICE = "ddtree-deadman.timer", "ddtree-deadman.service"
FILES = ("__init__", "places", "durable", "lock", "fence", "units", "credentials", "switching", "deadman")  # what it needs to run
EARLY_SECONDS = 2.0  # a timer that elapsed this much too soon is taken for right

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


@dataclass(frozen=True)
class Record:
    """What /var/lib/ddtree/deadman.json holds. `deadline` counts on CLOCK_BOOTTIME of the boot `boot_id`.

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


def armed(places: Places) -> Record | None:
    """The record, or None: not armed, or damaged."""
    content = durable.read(places.deadman)
    try:
        return Record(**content) if content else None
    except TypeError:
        return None


def arm(places: Places, release: str, port: int, back_to: str | None, after_s: int, by: str, python: str) -> Record:
    """Before the switch. Also for a deploy that takes up an earlier one's. Raises HostError, OSError."""
    switching.check(places, release, port)
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
    was = durable.remove(places.deadman)
    link = places.units / "timers.target.wants" / TIMER
    if was or link.is_symlink():
        durable.remove(link)
        units.systemctl("stop", TIMER, check=False)
        return True
    return False


def main() -> int:
    """Run by systemd when the time is over, or when the server's unit has failed for good."""
    places = Places()
    # A controller that is there decides for itself; if it goes away while we wait, we are next.
    with held(places, "dead-man", seconds=None):
        sys.stdout.write(f"ddtree dead-man: {fire(places)}\n")
    return 0


def fire(places: Places) -> str:
    """What was done, in words; also a line in the audit log. Repeated safely."""
    record = armed(places)
    if record is None:
        disarm(places)
        return "nothing to do: the deploy was committed or undone"
    state = units.show(record.port)
    if record.seconds_left() > EARLY_SECONDS and state.get("ActiveState") != "failed":
        return f"not yet: {record.seconds_left():.0f} s are left"
    if places.linked("last-good") == record.release:
        disarm(places)  # its commit was cut off after what counts
        return f"nothing to do: {record.release} is the last good release"
    done = _back(places, record, state)
    line = {"event": "dead-man", "release": record.release, "back_to": record.back_to, "by": record.by, "result": done}
    lock.audit(str(places.audit), line)
    disarm(places)
    return done


def _back(places: Places, record: Record, state: dict[str, str]) -> str:
    target = record.back_to
    if target is None or target == record.release:
        if units.is_serving(state):
            return f"{record.release} serves uncommitted, and there is no other good release: left as it is"
        units.systemctl("disable", "--now", units.name(record.port), seconds=units.STOP_SECONDS, check=False)
        return f"{record.release} does not serve, and there is no other good release: stopped"
    late = f"{record.release} was not committed in {record.after_s} s"
    port = switching.port_of(places, target)
    there = units.show(port)
    switching.switch(places, target, port)
    if units.is_serving(there) and target in units.running_releases(places):
        return f"{late}, and {target} still serves: only the link was put back"
    if state.get("ActiveState") == there.get("ActiveState") == "inactive":
        return f"{late}; the server was stopped and stays so, current is {target}"
    switching.clear_others(places, port)
    units.systemctl("restart", "--no-block", units.name(port))
    return f"{late}: {target} is started again"


if __name__ == "__main__":
    sys.exit(main())
