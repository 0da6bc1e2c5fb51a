"""A run whose own words show other work than was asked for doesn't count."""

from __future__ import annotations

import json

import pytest

from benchmarks.contestants import Scenario, WrongWork, check, tool
from benchmarks.converge import Case, turned
from benchmarks.timing import Timed

RECAP = "h01   : ok=20   changed={}    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0\n"
TABLE = "Operation    Hosts   Success   Error   No Change\n    Grand total        {}      {}         -       19\n"


def done(output: str = "", errors: str = "", code: int = 0) -> Timed:
    return Timed(code, 0.0, 1.0, 1.0, 0.0, output, errors)


def ours(*outcomes: str) -> Timed:
    return done(json.dumps({"hosts": [{"outcome": outcome} for outcome in outcomes]}))


RIGHT = [
    ("ours", Scenario.NOOP, ours("nothing_to_do")),
    ("ours", Scenario.CHANGED, ours("deployed")),
    ("tuned", Scenario.NOOP, done(RECAP.format(0))),
    ("tuned", Scenario.CHANGED, done(RECAP.format(9))),
    ("pyinfra", Scenario.NOOP, done(errors=TABLE.format(20, "-"))),
    ("pyinfra", Scenario.CHANGED, done(errors=TABLE.format(20, "15"))),
]
WRONG = [
    ("ours", Scenario.NOOP, ours("deployed")),
    ("ours", Scenario.NOOP, ours("nothing_to_do", "nothing_to_do")),
    ("ours", Scenario.CHANGED, ours("nothing_to_do")),
    ("tuned", Scenario.NOOP, done(RECAP.format(1))),
    ("tuned", Scenario.NOOP, done("")),
    ("tuned", Scenario.CHANGED, done(RECAP.format(0))),
    ("tuned", Scenario.NOOP, done(RECAP.format(0), code=2)),
    ("pyinfra", Scenario.NOOP, done(errors=TABLE.format(20, "1"))),
    ("pyinfra", Scenario.NOOP, done(errors=TABLE.format(19, "-"))),
    ("pyinfra", Scenario.CHANGED, done(errors="")),
]


@pytest.mark.parametrize(("name", "scenario", "run"), RIGHT)
def test_the_right_work_counts(name: str, scenario: Scenario, run: Timed) -> None:
    check(tool(name), scenario, run, 1)


@pytest.mark.parametrize(("name", "scenario", "run"), WRONG)
def test_other_work_does_not_count(name: str, scenario: Scenario, run: Timed) -> None:
    with pytest.raises(WrongWork):
        check(tool(name), scenario, run, 1)


def test_every_tool_is_once_at_every_place() -> None:
    tools = tuple(map(tool, ("ours", "tuned", "pyinfra")))
    orders = [[one.name for one in turned(tools, number)] for number in range(3)]
    assert [sorted(column) for column in zip(*orders, strict=True)] == [sorted(one.name for one in tools)] * 3


def test_the_slow_tools_run_once_and_only_where_there_is_time() -> None:
    slow, short = Case(Scenario.NOOP, 1, 0, 3, slow=True), Case(Scenario.NOOP, 10, 0, 2)
    assert [slow.takes(tool("plain"), number) for number in range(3)] == [True, False, False]
    assert not short.takes(tool("roles"), 0)
    assert all(short.takes(tool(name), 1) for name in ("ours", "tuned", "mitogen", "pyinfra"))
    assert not Case(Scenario.FIRST, 1, 0, 1).takes(tool("mitogen"), 0)
