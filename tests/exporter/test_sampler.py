"""A collector that raises, hangs or talks nonsense costs only itself."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.errors import Unreachable
from ddtree_ops.exporter.bounds import LONGEST_LABEL, bounded
from ddtree_ops.exporter.catalogue import failures, releases, server, speculation, unit
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.sight.readings import Readings


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


class Script:
    """Gives one answer after the other; the last one for ever."""

    def __init__(self, name: str, *answers: Sequence[Sample] | Exception, period: float = 5.0) -> None:
        self.name = name
        self.period = period
        self.readings = 0
        self._answers = answers

    def read(self) -> Sequence[Sample]:
        answer = self._answers[min(self.readings, len(self._answers) - 1)]
        self.readings += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


class Hanging(Script):
    def __init__(self) -> None:
        super().__init__("boots", [], period=0.05)
        self.free = threading.Event()

    def read(self) -> Sequence[Sample]:
        self.free.wait(10)
        return []


READY = Sample(unit.READY, 1.0, ("30000",))


def test_samples_outlive_three_periods_of_failures_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    sampler = Sampler([Script("unit", [READY], Unreachable("gone\n\x1b[31m"))], clock, lambda: clock.now)
    assert Readings(sampler.read_once()).value(unit.READY, "30000") == 1.0
    kept = []
    for _ in range(4):
        clock.now += 5.0
        snapshot = sampler.read_once()
        kept.append(Readings(snapshot).value(unit.READY, "30000"))
    assert kept == [1.0, 1.0, 1.0, None]
    state = snapshot.states["unit"]
    assert (state.success, state.last_success, state.error) == (False, 1000.0, "Unreachable: gone [31m")
    assert capsys.readouterr().err == "collector unit: Unreachable: gone [31m\n"  # once, not at each reading


def test_one_that_raises_anything_leaves_the_others_alone() -> None:
    sampler = Sampler([Script("boots", RecursionError()), Script("unit", [READY])], Clock())
    snapshot = sampler.read_once()
    assert not snapshot.states["boots"].success
    assert snapshot.states["unit"].success
    assert Readings(snapshot).value(unit.READY, "30000") == 1.0


def test_one_that_hangs_shows_as_failed_while_the_others_go_on() -> None:
    hanging, quick = Hanging(), Script("unit", [READY], period=0.02)
    sampler = Sampler([hanging, quick], SystemClock())
    sampler.start()
    try:
        deadline = time.monotonic() + 60
        while (quick.readings < 5 or "boots" not in sampler.snapshot().states) and time.monotonic() < deadline:
            time.sleep(0.01)
        snapshot = sampler.snapshot()
        assert sampler.alive
        assert not snapshot.states["boots"].success
        assert snapshot.states["unit"].success
    finally:
        hanging.free.set()
        sampler.close()
    assert not sampler.alive


class Following(Script):
    """Keeps something running from its first reading on."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_what_collectors_keep_running_ends_with_it() -> None:
    following = Following("unit", [READY])
    sampler = Sampler([following, Script("boots", [])], Clock())
    sampler.read_once()
    sampler.close()
    assert following.closed == 1


def test_what_a_collector_may_not_hand_over() -> None:
    unfit = [
        Sample(failures.TOTAL, 1.0, ("30000", "oom", "root")),  # another collector's
        Sample(unit.READY, 1.0),  # labels missing
        Sample(unit.READY, 1.0, ("30001",), "_bucket", "1"),  # no histogram
        READY,
        READY,  # there already
        *(Sample(unit.READY, 1.0, (str(port),)) for port in range(1, 9)),  # at most 4
    ]
    fit, dropped = bounded("unit", unfit)
    assert [sample.labels[0] for sample in fit] == ["30000", "1", "2", "3"]
    assert dropped == 9
    buckets = [
        Sample(speculation.LENGTH, 1.0, ("30000",), "_bucket", "1.0"),
        Sample(speculation.LENGTH, 1.0, ("30000",), "_bucket"),
    ]
    assert bounded("server", buckets)[1] == 1


def test_labels_are_cleaned_and_cut() -> None:
    (found,), _ = bounded("unit", [Sample(unit.READY, 1.0, ("a\n\x1b\u202e\ud800b" + "x" * 999,))])
    assert found.labels[0].startswith("a    bxxx")
    assert len(found.labels[0]) == LONGEST_LABEL


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "many", None])
def test_what_is_no_number_is_left_out(value: object) -> None:
    assert bounded("unit", [Sample(unit.READY, value, ("30000",))]) == ((), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(("value", "fits"), [(0.0, True), (1.0, True), (1.01, False), (-0.1, False)])
def test_a_ratio_is_from_0_to_1(value: float, fits: bool) -> None:
    assert bounded("unit", [Sample(unit.LOAD_PROGRESS, value, ("30000",))])[1] == int(not fits)


def test_a_server_that_was_killed_neither_serves_nor_is_healthy() -> None:
    serving = [Sample(releases.INFO, 1, (port, role, "a")) for port in ("1", "2") for role in ("serving", "current")]
    health = [Sample(server.HEALTH, 1, (port,)) for port in ("1", "2")]
    ready = [Sample(unit.READY, float(port == "2"), (port,)) for port in ("1", "2")]
    collectors = [Script("releases", serving), Script("health", health), Script("unit", ready)]
    found = Readings(Sampler(collectors, Clock()).read_once())
    assert [one.labels[:2] for one in found.series(releases.INFO)] == [("1", "current"), ("2", "serving"), ("2", "current")]
    assert (found.value(server.HEALTH, "1"), found.value(server.HEALTH, "2")) == (0, 1)


def test_what_the_run_before_said_is_not_the_new_ones() -> None:
    """Health is asked for twice a minute, the unit every five seconds."""
    clock = Clock()
    units = [[READY, Sample(unit.STARTED, began, ("30000",))] for began in (100.0, 100.0, 200.0, 200.0)]
    health = Script("health", [Sample(server.HEALTH, 1, ("30000",))])
    sampler = Sampler([health, Script("unit", *units)], clock)
    told = []
    for _ in range(2):
        told.append(Readings(sampler.read_once()).value(server.HEALTH, "30000"))
        clock.now += 5.0
    health.readings = 0
    for slot in (sampler._slots["unit"],) * 2:
        sampler._read(slot)
        clock.now += 5.0
        told.append(Readings(sampler.snapshot()).value(server.HEALTH, "30000"))
    told.append(Readings(sampler.read_once()).value(server.HEALTH, "30000"))
    assert told == [1, 1, None, None, 1]


class Doubting(Script):
    """Has something to tell, and something to complain of."""

    problem: str | None = "boots.json\ncan't be written"


def test_a_problem_is_a_failure_and_costs_no_samples(capsys: pytest.CaptureFixture[str]) -> None:
    clock, doubting = Clock(), Doubting("unit", [READY])
    sampler = Sampler([doubting], clock, lambda: clock.now)
    for _ in range(9):
        clock.now += 5.0
        found = sampler.read_once()
        assert (found.states["unit"].success, Readings(found).value(unit.READY, "30000")) == (False, 1.0)
    assert found.states["unit"].last_success is None
    doubting.problem = None
    assert sampler.read_once().states["unit"].success
    assert capsys.readouterr().err == "collector unit: boots.json can't be written\ncollector unit: well again\n"
