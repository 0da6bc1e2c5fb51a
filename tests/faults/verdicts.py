"""What is asked after every fault, and the row that tells of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from tests.faults.arena import Arena
from tests.faults.command import Deploying, Ended
from tests.faults.found import Found
from tests.faults.matrix import SIGKILLED
from tests.faults.table import PROPERTY, public

CONTROLLER_SECONDS = 60.0


@dataclass
class Row:
    """One fault's line in the record; `step` is empty for faults that belong to none."""

    step: str
    fault: str
    code: int | None = None
    message: str = ""
    seconds_to_end: float | None = None
    served: str = ""
    left: list[str] = field(default_factory=list)
    again: str = ""

    def ended(self, ended: Ended) -> None:
        """Take down how the command ended."""
        self.code, self.message, self.seconds_to_end = ended.code, public(ended.message)[:300], round(ended.seconds, 1)

    def keep(self, record: Callable[[str, object], None]) -> None:
        record(PROPERTY, json.dumps(asdict(self)))


def check_message(ended: Ended, codes: frozenset[int], says: str) -> None:
    """Exit code, and the reason in words; never a Python traceback."""
    assert "Traceback (most recent call last)" not in ended.stderr, ended.everything
    assert ended.code in codes, f"exit code {ended.code}, not {sorted(codes)}: {ended.everything}"
    if ended.code not in (0, SIGKILLED) and says:
        told = f"{ended.message} {' '.join(map(str, ended.report.get('evidence') or ()))} {ended.stderr}"
        assert re.search(says, told), f"{says!r} is not in what it says: {ended.everything}"


def check_nothing_runs_on(running: Deploying) -> None:
    """The controller's own processes end with it; ansible-playbook needs a moment to see that it is alone."""
    deadline = time.monotonic() + CONTROLLER_SECONDS
    while running.left_running() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not running.left_running()


def check_served(found: Found, old: str, new: str, row: Row) -> None:
    """After any fault the former or the new release answers."""
    row.served = {old: "former", new: "new"}.get(found.serves or "", "none")
    row.left = found.untidy()
    assert found.serves in (old, new), f"neither {old} nor {new} serves: {found}"


def check_left_alone(before: Found, after: Found, row: Row) -> None:
    """What served still does: the same process, the same links."""
    row.served = "former" if after.serves == before.serves else str(after.serves)
    row.left = after.untidy()
    same = ("InvocationID", "MainPID", "release")
    assert [after.unit.get(name) for name in same] == [before.unit.get(name) for name in same], (before, after)
    assert (after.links, after.serves, after.armed) == (before.links, before.serves, before.armed), (before, after)


def check_again(arena: Arena, new: str, row: Row) -> None:
    """The same deploy, plainly again: ends green, and nothing half-made is left."""
    again = arena.deploy()
    row.again = f"{again.report.get('outcome', again.code)} in {again.seconds:.1f} s"
    assert again.code == 0, f"the second run: {again.code} {again.everything}"
    found = arena.until_quiet()
    assert found.serves == new, f"{found.serves} serves, not {new}: {found}"
    assert not found.untidy(), found.untidy()
