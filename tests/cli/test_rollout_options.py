"""What can't be in the options of a rollout is said before any host is asked."""

from __future__ import annotations

import pytest

from tests.cli.test_commands import run

pytestmark = pytest.mark.processes


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--canary", "nobody"), "--canary nobody is none of the chosen hosts"),
        (("--canary", "b300", "--no-canary"), "not both"),
        (("--serial", "150%"), "--serial 150%: give a number of hosts"),
        (("--forks", "0"), "--forks"),
        (("--max-failures", "0"), "--max-failures"),
    ],
)
def test_a_mistake_is_one_clear_line(args: tuple[str, ...], said: str) -> None:
    done = run("deploy", "--group", "all", "--yes", *args, DDTREE_OPS_INVENTORY="inventories/lab")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
