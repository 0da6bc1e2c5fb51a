"""What a snapshot comes to, and what is shown when nothing is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddtree_ops.exporter.fleet_wiring import _problem
from ddtree_ops.exporter.sampler import UNENDED
from ddtree_ops.exporter.sight.build import sight
from ddtree_ops.exporter.sight.history import GAP_SECONDS, POINTS
from ddtree_ops.exporter.sight.model import RANK, HostSight, State
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.sight.sights import Sights
from ddtree_ops.exporter.snapshot import CollectorState, Snapshot
from tests.exporter.fleet_model import NOW, Model, observed, read_later

CRASH = ("a1b2c3d4e5f60718", "graph_token_count_mismatch", "root", 60.0)
REFUSED = ("c" * 16, "request_error", "request", 60.0)
LOADING = Model("h", state="activating", phase="weights", progress=0.43, eta=214, moved=1, answers=0)


@pytest.mark.parametrize(
    ("model", "state", "reason"),
    [
        (Model("h"), State.SERVING, ""),
        (Model("h", answers=0), State.SERVING, "no metrics of SGLang's at /metrics"),
        (LOADING, State.LOADING, ""),
        (replace(LOADING, moved=179), State.LOADING, ""),
        (replace(LOADING, moved=181), State.STALLED, ""),
        (replace(LOADING, failures=(CRASH,)), State.FAILED, "died while loading"),
        (replace(LOADING, failures=(CRASH,), age=30), State.LOADING, ""),  # the failure is the former start's
        (replace(LOADING, phase="none", progress=None, moved=None, exit_code=70), State.FAILED, "crashed, is restarted"),
        (Model("h", answers=0, failures=(CRASH,)), State.FAILED, "went down; systemd waits for its processes"),
        (Model("h", failures=(CRASH,)), State.SERVING, ""),  # it still answers
        (
            Model("h", answers=0, failures=(("a" * 16, "request_error", "request", 60.0),)),
            State.SERVING,
            "no metrics of SGLang's at /metrics",
        ),
        (Model("h", state="failed", exit_code=75), State.FAILED, "ended as stalled"),
        (Model("h", state="failed", exit_code=9, result="signal"), State.FAILED, "signal"),
        (Model("h", state="inactive", phase="none"), State.STOPPED, ""),
        (Model("h", state="deactivating"), State.STOPPING, ""),
        (Model("h", state=None), State.ABSENT, ""),
        (Model("h", state=None, problem="no route to host"), State.UNREACHABLE, ""),
        (Model("h", problem="no route to host"), State.UNREACHABLE, ""),
    ],
)
def test_state(model: Model, state: State, reason: str) -> None:
    found = sight(observed(model), NOW)
    assert (found.state, found.servers[0].reason) == (state, reason)


def test_nothing_read_is_unknown_and_no_nought() -> None:
    found = sight(Observed("h", Snapshot({}, {}, NOW)), NOW)
    assert (found.state, found.drift_items, found.stale) == (State.UNKNOWN, None, True)
    traffic, load = found.servers[0].traffic, found.servers[0].load
    assert {traffic.running, traffic.queued, traffic.tokens, traffic.acceptance, load.progress, load.eta} == {None}


def test_values_that_are_no_numbers_are_unknown() -> None:
    model = replace(LOADING, eta=float("nan"), running=float("inf"))
    server = sight(observed(model), NOW).servers[0]
    assert (server.load.eta, server.traffic.running) == (None, None)


def test_what_a_host_says() -> None:
    found = sight(
        observed(Model("h", drift={"file": 2, "link": 1}, gpus=7, failures=(CRASH, ("b" * 16, "nccl", "noise", 5.0)))), NOW
    )
    assert (found.drift, found.drift_items) == ((("file", 2), ("link", 1)), 3)
    assert (found.gpus_seen, found.gpus_expected, len(found.gpus)) == (7, 8, 7)
    assert [deploy.event for deploy in found.deploys] == ["deploy", "deploy", "stop"]
    server = found.servers[0]
    assert [name for name, _ in server.boot.segments][-3:] == ["draft_weights", "draft_graph_capture", "warmup"]
    assert (server.failures[0].kind, server.last_failure and server.last_failure.kind) == ("nccl", "graph_token_count_mismatch")
    assert (server.settings.budget, server.settings.draft_model) == (32, "Qwen3-Coder-480B-A35B-FP8-DFlash")


def _follow(models: list[tuple[float, Model]]) -> HostSight:
    sights = Sights()
    found = observed(models[0][1], NOW)
    last: HostSight | None = None
    at = NOW
    for seconds, model in models:
        at += seconds
        found = read_later(found, model, seconds)
        last = sights.update((found,), at)[0]
    assert last is not None
    return last


def test_rates_come_from_counters_and_survive_a_reset() -> None:
    model = Model("h")
    steps = [(0.0, model)]
    for generated in (500.0, 1000.0, 250.0):  # the third is a restarted server's
        steps.append((5.0, replace(model, generated=generated, committed=generated, steps=generated / 4)))
    traffic = _follow(steps).servers[0].traffic
    assert traffic.tokens_series == (None, 100.0, 100.0, 50.0)
    assert (traffic.tokens, traffic.acceptance) == (50.0, 4.0)


def test_idle_is_nought_tokens_but_no_acceptance() -> None:
    model = Model("h", generated=10, committed=10, steps=5)
    traffic = _follow([(0, model), (5, model)]).servers[0].traffic
    assert (traffic.tokens, traffic.acceptance) == (0.0, None)


def test_a_long_silence_is_a_gap_and_the_ring_is_bounded() -> None:
    model = Model("h", generated=10)
    assert _follow([(0, model), (GAP_SECONDS + 1, replace(model, generated=1000))]).servers[0].traffic.tokens is None
    many = [(5.0, replace(model, generated=10.0 * index)) for index in range(POINTS + 20)]
    assert len(_follow(many).servers[0].traffic.tokens_series) == POINTS


def test_a_reading_counts_once_however_often_one_looks() -> None:
    sights, found = Sights(), observed(Model("h"), NOW)
    for second in range(4):
        (seen,) = sights.update((found,), NOW + second)
    assert seen.servers[0].traffic.tokens_series == (None,)


def test_a_lost_host_is_shown_as_last_seen() -> None:
    sights = Sights()
    (before,) = sights.update((observed(Model("h")),), NOW)
    failed = CollectorState(False, 1.0, NOW - 1, "Unreachable: h: no route")
    lost = Observed("h", Snapshot({"unit": ()}, {"unit": failed}, NOW + 60), problem="h: no route")
    (after,) = sights.update((lost,), NOW + 60)
    assert (after.state, after.stale, after.read, after.problem) == (State.UNREACHABLE, True, NOW - 1, "h: no route")
    assert after.servers[0].settings == before.servers[0].settings


def test_what_nobody_reads_any_more_gets_stale() -> None:
    sights, found = Sights(), observed(Model("h"), NOW)
    assert not sights.update((found,), NOW + 20)[0].stale
    assert sights.update((found,), NOW + 40)[0].stale
    assert sights.update((replace(found, host="other"),), NOW)[0].host == "other"


def test_several_servers_of_a_host_worst_first() -> None:
    first, second = observed(Model("h", port="30000")), observed(replace(LOADING, port="30001"))
    assert isinstance(first.snapshot, Snapshot)
    assert isinstance(second.snapshot, Snapshot)
    joined = {name: (*samples, *second.snapshot.samples[name]) for name, samples in first.snapshot.samples.items()}
    found = sight(replace(first, snapshot=Snapshot(joined, first.snapshot.states, NOW)), NOW)
    assert [(server.port, server.state) for server in found.servers] == [(30001, State.LOADING), (30000, State.SERVING)]


def test_a_server_that_hangs_is_not_serving() -> None:
    model = Model("h", healthy=0, generated=10)
    assert _follow([(0, model), (50, model)]).servers[0].reason == "health fails"
    hung = _follow([(0, model), (30, model), (31, model)])
    assert (hung.state, hung.servers[0].reason) == (State.UNANSWERING, "health fails, no tokens come")
    assert _follow([(0, model), (30, model), (31, replace(model, healthy=1))]).state is State.SERVING
    assert _follow([(0, model), (30, replace(model, generated=20)), (31, replace(model, generated=20))]).state is State.SERVING
    silent = replace(model, answers=0, generated=None)
    assert _follow([(0, silent), (61, silent)]).state is State.UNANSWERING
    assert RANK[State.FAILED] < RANK[State.UNANSWERING] < RANK[State.STALLED] < RANK[State.LOADING]


def test_silence_is_not_counted_over_a_gap_in_which_nobody_looked() -> None:
    model, sights = Model("h", healthy=0, generated=10), Sights()
    found = read_later(observed(model, NOW), model, 0)
    sights.update((found,), NOW)
    sights.update((found,), NOW + GAP_SECONDS + 10)
    told = []
    for seconds in (120, 40, 30):
        found = read_later(found, model, seconds)
        assert found.snapshot is not None
        told.append(sights.update((found,), found.snapshot.taken)[0].state)
    assert told == [State.SERVING, State.SERVING, State.UNANSWERING]


def _failed(seconds: float, error: str, *, kept: bool = False, success: bool = False) -> Snapshot:
    """So long after the last good reading of the units; slow collectors are still well."""
    found = observed(Model("h", read_ago=0)).snapshot
    assert isinstance(found, Snapshot)
    states = {**found.states, "unit": CollectorState(success, 1.0, NOW, error)}
    return Snapshot({**found.samples, "unit": found.samples["unit"] if kept else ()}, states, NOW + seconds)


@pytest.mark.parametrize(
    ("snapshot", "problem"),
    [
        (_failed(3, UNENDED, kept=True), None),
        (
            _failed(11, "HostTimedOut: h: `systemctl show` took longer than 10 s", kept=True),
            "h: `systemctl show` took longer than 10 s",
        ),
        (_failed(3, "Unreachable: h: no route to host", kept=True), "h: no route to host"),
        (_failed(3, "HostCommandFailed: h: exit code 1", kept=True), None),
        (_failed(16, "HostCommandFailed: h: exit code 1"), "h: exit code 1"),
        (_failed(16, UNENDED), "doesn't answer"),
        (_failed(3, UNENDED), None),  # there was none, and the next reading goes on
        (_failed(0, "", success=True), None),
    ],
)
def test_a_host_whose_units_cannot_be_read_is_lost_though_slow_collectors_are_well(
    snapshot: Snapshot, problem: str | None
) -> None:
    assert _problem(snapshot) == problem


def test_a_host_that_freezes_stays_unreachable_while_readings_do_not_end() -> None:
    sights = Sights()
    sights.update((observed(Model("h", read_ago=0)),), NOW)
    told = []
    for seconds, error, kept in (
        (11, "HostTimedOut: h: late", True),
        (14, UNENDED, True),
        (16, UNENDED, False),
        (40, UNENDED, False),
    ):
        snapshot = _failed(seconds, error, kept=kept)
        (seen,) = sights.update((Observed("h", snapshot, problem=_problem(snapshot)),), NOW + seconds)
        told.append((seen.state, seen.problem, seen.stale, seen.read, seen.servers[0].port))
    assert told == [(State.UNREACHABLE, "h: late", True, NOW, 30000)] * 4
    assert sights.update((observed(Model("h"), NOW + 60),), NOW + 60)[0].state is State.SERVING


def test_no_server_is_said_only_of_units_that_were_read() -> None:
    sights = Sights()
    (alone,) = sights.update((Observed("h", _failed(3, UNENDED)),), NOW + 3)
    assert alone.state is State.UNKNOWN
    sights.update((observed(Model("h", read_ago=0)),), NOW)
    (kept,) = sights.update((Observed("h", _failed(16, UNENDED)),), NOW + 16)
    assert (kept.state, kept.stale, kept.read) == (State.SERVING, True, NOW)
    (lost,) = sights.update((Observed("h", _failed(31, UNENDED)),), NOW + 31)
    assert (lost.state, lost.stale, lost.servers[0].port) == (State.UNKNOWN, True, 30000)


def test_a_server_that_crashed_while_serving_did_not_die_while_loading() -> None:
    waits = Model("h", state="activating", phase="none", moved=None, failures=(CRASH,))
    for model in (waits, replace(waits, exit_code=70), replace(waits, phase="serving")):
        found = sight(observed(model), NOW)
        assert (found.state, found.servers[0].reason) == (State.FAILED, "crashed, is restarted")
