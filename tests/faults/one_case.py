"""One field of the matrix, from the strike to the second run."""

from __future__ import annotations

from collections.abc import Callable

from tests.faults.arena import Arena
from tests.faults.matrix import Case, Fault
from tests.faults.reach import reach
from tests.faults.strikes import struck
from tests.faults.verdicts import Row, check_again, check_message, check_nothing_runs_on, check_served

Record = Callable[[str, object], None]


def run_case(arena: Arena, case: Case, record: Record) -> None:
    """Strike one deploy, look at what is left, and deploy again."""
    row = Row(case.step.value, case.fault.value)
    try:
        _run(arena, case, row)
    finally:
        row.keep(record)


def _run(arena: Arena, case: Case, row: Row) -> None:
    old = arena.look().serves
    assert old is not None
    arena.spec()
    new = arena.release()
    with arena.deploying() as running:
        reach(running, arena, case.step, new)
        with struck(case.fault, running, arena.lab, arena.host):
            ended = running.end()
            if case.fault in (Fault.KILLED, Fault.INTERRUPTED):
                check_nothing_runs_on(running)
        row.ended(ended)
        found = arena.until_serving(any_of={old, new})
        check_served(found, old, new, row)
        check_again(arena, new, row)
        check_message(ended, case.codes, case.says)
