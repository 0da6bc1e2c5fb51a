"""Waiting for the moment in which a fault is to strike."""

from __future__ import annotations

from tests.faults.arena import Arena
from tests.faults.command import Deploying
from tests.faults.found import PORT
from tests.faults.matrix import STEP_NAMES, Step

#: Both end by themselves after four minutes; they look often, because the moment is short.
STAGING_BEGUN = """
import glob, sys, time
end = time.monotonic() + 240
while not glob.glob("/opt/ddtree/releases/.staging-*"):
    time.monotonic() < end or sys.exit("no staging directory appeared")
    time.sleep(0.005)
"""
LOADING = """
import os, subprocess, sys, time
end = time.monotonic() + 240
while True:
    show = ("systemctl", "show", "--value", "--property=MainPID", sys.argv[1])
    pid = subprocess.run(show, capture_output=True, text=True).stdout.strip()
    try:
        if os.path.basename(os.readlink(f"/proc/{pid}/cwd")) == sys.argv[2]:
            break
    except OSError:
        pass
    time.monotonic() < end or sys.exit("the new release was never started")
    time.sleep(0.02)
"""


def reach(running: Deploying, arena: Arena, step: Step, release: str) -> None:
    """Return while the deploy is in the middle of this step."""
    names = STEP_NAMES[step]
    running.until(lambda line: line["event"] == "step_started" and line["step"] in names, f"the step {step}")
    if step is Step.STAGING:
        arena.lab.sh(arena.host, "python3", "-c", STAGING_BEGUN)
    elif step is Step.WAITING:
        arena.lab.sh(arena.host, "python3", "-c", LOADING, f"ddtree-server@{PORT}.service", release)
    elif step in (Step.SWITCHING, Step.COMMITTING):
        running.until(lambda line: line["event"] == "task", f"a task of the step {step}")
