"""The host itself goes away, hangs, fills up or loses its server at each step."""

from __future__ import annotations

from tests.faults.arena import Arena
from tests.faults.matrix import Case, Fault
from tests.faults.one_case import Record, run_case

FAULTS = (Fault.POWER_CUT, Fault.REBOOT, Fault.FROZEN_SHORT, Fault.FROZEN, Fault.UNIT_KILLED)


def test_lost_host(case: Case, ct200: Arena, record_property: Record) -> None:
    run_case(ct200, case, record_property)
