"""The clock, the memory and the medians."""

from __future__ import annotations

import sys
import time

import pytest

from benchmarks.poller import Seen, judge
from benchmarks.spread import Spread, from_data, spread
from benchmarks.timing import timed

pytestmark = pytest.mark.processes

PARENT = "import subprocess, sys; subprocess.run((sys.executable, '-c', sys.argv[1]), check=True)"


def test_children_count_in_time() -> None:
    before = time.monotonic()
    done = timed((sys.executable, "-c", PARENT, "for _ in range(12_000_000): pass"))
    assert done.code == 0
    assert before <= done.began
    assert done.cpu > 0.05
    assert done.wall >= 0.05


def test_the_memory_of_the_whole_tree_is_seen() -> None:
    held = "import time; x = bytearray(90_000_000); time.sleep(0.8)"
    assert 85 < timed((sys.executable, "-c", PARENT, held)).peak_mib < 200


def test_both_outputs_and_the_code_are_kept() -> None:
    done = timed((sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"))
    assert (done.code, done.output, done.errors) == (3, "out\n", "err\n")


def test_a_command_without_end_is_ended() -> None:
    with pytest.raises(TimeoutError):
        timed(("sleep", "60"), limit=0.2)


def test_a_spread_and_back() -> None:
    found = spread([3.0, 1.0, 2.0, 10.0])
    assert found == Spread(2.5, 1.0, 10.0, 4)
    assert from_data(found.to_data()) == found
    with pytest.raises(ValueError, match="no values"):
        spread([])


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("ActiveState=activating\nSubState=start\nNRestarts=0\nhealth 0\n", Seen.LOADING),
        ("ActiveState=activating\nSubState=start\nNRestarts=0\nhealth 503\n", Seen.LOADING),
        ("ActiveState=active\nSubState=running\nNRestarts=0\nhealth 200\n", Seen.READY),
        ("ActiveState=failed\nSubState=failed\nNRestarts=0\nhealth 0\n", Seen.DEAD),
        ("ActiveState=activating\nSubState=auto-restart\nNRestarts=0\nhealth 0\n", Seen.DEAD),
        ("ActiveState=activating\nSubState=start\nNRestarts=1\nhealth 0\n", Seen.DEAD),
        ("", Seen.LOADING),
    ],
)
def test_the_poller_judges_as_a_person_would(text: str, seen: Seen) -> None:
    assert judge(text) is seen
