"""The faults themselves: how each one strikes, and how the world is put right again afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faults.command import Deploying
from tests.faults.found import PORT
from tests.faults.matrix import Fault
from tests.hosts.lab import Lab

#: Shorter than every deadline of ours (20 s for unanswered data, 30 s for a command).
SHORT_SECONDS = 5.0
FILLER = ".fault-test-filler"
# A file's last block has room for the lines of one more deploy: it is filled up, too.
FILL = """
import os, sys
for name in os.listdir(os.path.dirname(sys.argv[1])):
    if name.endswith(".jsonl"):
        with open(os.path.join(os.path.dirname(sys.argv[1]), name), "ab") as file:
            file.write(b"\\n" * (-file.tell() % 4096))
with open(sys.argv[1], "ab", buffering=0) as file:
    for size in (1 << 20, 4096, 1):
        try:
            while file.write(b"x" * size) == size:
                pass
        except OSError:
            pass
"""
DROP = """
import os, signal
from pathlib import Path
for entry in Path("/proc").iterdir():
    if entry.name.isdigit() and entry.name != "1":
        try:
            name, _, rest = (entry / "stat").read_text().partition(") ")
        except OSError:
            continue
        if name.endswith("(sshd") and rest.split()[1] != "1":
            os.kill(int(entry.name), signal.SIGKILL)
"""


@contextmanager
def struck(fault: Fault, running: Deploying, lab: Lab, host: str) -> Iterator[None]:
    """The fault strikes at once; leaving the context puts the host right, whatever happened meanwhile."""
    if fault in (Fault.KILLED, Fault.INTERRUPTED):
        running.process.kill() if fault is Fault.KILLED else running.interrupt()
        yield
        return
    strike, mend = _deeds(lab, host)[fault]
    timer = threading.Timer(SHORT_SECONDS, mend) if fault in (Fault.CUT_SHORT, Fault.FROZEN_SHORT) else None
    try:
        with running.held():
            strike()
        if timer:
            timer.start()
        yield
    finally:
        if timer:
            timer.cancel()
        mend()


def _deeds(lab: Lab, host: str) -> dict[Fault, tuple[Callable[[], object], Callable[[], object]]]:
    unit = f"ddtree-server@{PORT}.service"

    def fill(folder: str) -> tuple[Callable[[], object], Callable[[], object]]:
        filler = str(Path(folder) / FILLER)
        return lambda: lab.sh(host, "python3", "-c", FILL, filler), lambda: lab.sh(host, "rm", "-f", filler)

    return {
        Fault.DROPPED: (lambda: lab.sh(host, "python3", "-c", DROP), lambda: None),
        Fault.CUT_SHORT: (lambda: lab.cut(host), lambda: lab.heal(host)),
        Fault.CUT: (lambda: lab.cut(host), lambda: lab.heal(host)),
        Fault.POWER_CUT: (lambda: lab.crash(host), lambda: lab.start(host)),
        Fault.REBOOT: (lambda: lab.sh(host, "systemctl", "reboot"), lambda: lab.start(host)),
        Fault.FROZEN_SHORT: (lambda: lab.freeze(host), lambda: lab.thaw(host)),
        Fault.FROZEN: (lambda: lab.freeze(host), lambda: lab.thaw(host)),
        Fault.RELEASES_FULL: fill("/opt/ddtree"),
        Fault.STATE_FULL: fill("/var/lib/ddtree"),
        Fault.UNIT_KILLED: (lambda: lab.sh(host, "systemctl", "kill", "--signal=KILL", "--kill-whom=all", unit), lambda: None),
    }
