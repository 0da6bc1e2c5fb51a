"""Which files of host tests run one after another on one worker, and so on the same lab hosts; what takes longest begins first.

A worker boots a lab of its own, and the first deploy to a fresh host costs twice as much as any other: what works on the same
hosts stays together. Waiting costs nothing while others work, so what waits most comes first.
"""

from __future__ import annotations

from pathlib import PurePath

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

LANES = (
    ("test_monitoring_kernel.py",),
    ("test_monitoring.py",),
    ("test_lost_host.py", "test_full_disk.py", "test_refusals.py"),
    ("test_dead_man.py", "test_lost_controller.py", "test_two_controllers.py", "test_passing_faults.py"),
    ("test_first_path.py", "test_plan.py"),
    ("test_staging.py",),
    ("test_drift.py", "test_attempts_on_hosts.py", "test_many_hosts.py"),
    ("test_gate.py", "test_triage_on_hosts.py"),
    ("test_roles.py",),
    ("test_lab.py",),
    ("test_real_failures.py",),
    ("test_gateway.py", "test_connections.py"),
    ("test_nvidia_smi.py",),
)
_PLACES = {name: (lane, place) for lane, names in enumerate(LANES) for place, name in enumerate(names)}
_LAST = (len(LANES), 0)


def place(item: pytest.Item) -> tuple[int, int]:
    """For sorting; a file that has no lane comes last."""
    return _PLACES.get(item.path.name, _LAST)


class Lanes(LoadScopeScheduling):  # type: ignore[misc]
    """A lane goes to a worker as a whole. (`--dist loadgroup` of pytest-xdist 3.8 keeps no group together under pytest 9.)"""

    def _split_scope(self, nodeid: str) -> str:
        name = PurePath(nodeid.partition("::")[0]).name
        lane, _ = _PLACES.get(name, _LAST)
        return LANES[lane][0] if lane < len(LANES) else name
