"""A file system of the host is full at each step: a small one of its own, never the machine's disk."""

from __future__ import annotations

from tests.faults.arena import Arena
from tests.faults.matrix import Case, Fault
from tests.faults.one_case import Record, run_case

FAULTS = (Fault.RELEASES_FULL, Fault.STATE_FULL)


def test_full_disk(case: Case, small: Arena, record_property: Record) -> None:
    run_case(small, case, record_property)
