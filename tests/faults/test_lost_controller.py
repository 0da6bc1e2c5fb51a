"""The controller, or its way to the host, goes away at each step."""

from __future__ import annotations

from tests.faults.arena import Arena
from tests.faults.matrix import Case, Fault
from tests.faults.one_case import Record, run_case

FAULTS = (Fault.KILLED, Fault.INTERRUPTED, Fault.DROPPED, Fault.CUT_SHORT, Fault.CUT)


def test_lost_controller(case: Case, ct200: Arena, record_property: Record) -> None:
    run_case(ct200, case, record_property)
