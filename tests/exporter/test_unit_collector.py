"""The unit collector over what systemd 252 said on a lab host: serving, loading, crashed and waiting for its next try."""

from __future__ import annotations

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.exporter.catalogue import unit as catalogue
from ddtree_ops.exporter.collectors.unit import UnitCollector
from ddtree_ops.exporter.metric import Metric, Sample
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.sight.readings import Readings
from ddtree_ops.exporter.unit.samples import PHASES, RESULTS
from ddtree_ops.units.systemctl import Active
from tests.exporter.said_shell import LIST, recorded, target

LOADING, SERVING, CRASHED = (recorded(f"unit_{name}.txt") for name in ("loading", "serving", "crashed"))
BEGAN = 1796028787.0
NOW = {"date": f"{BEGAN + 20}\n"}


def value(samples: list[Sample], metric: Metric, *labels: str) -> float | None:
    return next((sample.value for sample in samples if sample.metric is metric and sample.labels == ("30000", *labels)), None)


def ones(samples: list[Sample], metric: Metric) -> list[str]:
    return [sample.labels[1] for sample in samples if sample.metric is metric and sample.value == 1.0]


def read(show: str, **more: str | Exception) -> list[Sample]:
    answers: dict[str, str | Exception] = {**NOW, "show": show, "list": "", **more}
    return list(UnitCollector(target(**answers)[0]).read())


@pytest.mark.parametrize(
    ("show", "state", "result", "phase", "ready"),
    [
        (SERVING, "active", "success", "serving", 1.0),
        (LOADING, "activating", "success", "weights", 0.0),
        (CRASHED, "activating", "exit-code", "none", 0.0),
        (CRASHED.replace("=auto-restart", "=auto-restart-queued"), "activating", "exit-code", "none", 0.0),
        (SERVING.replace("SubState=running", "SubState=exited"), "active", "success", "none", 0.0),
        (
            SERVING.replace("=active", "=deactivating").replace("=running", "=stop-sigterm"),
            "deactivating",
            "success",
            "shutdown",
            0.0,
        ),
        (LOADING.replace("weights 38% eta 12s", "draft_kv_cache"), "activating", "success", "kv_cache", 0.0),
        (LOADING.replace("weights 38% eta 12s", "unknown"), "activating", "success", "none", 0.0),
        (SERVING.replace("=active", "=dreaming").replace("=success", "=bored"), "unknown", "other", "none", 0.0),
    ],
)
def test_states(show: str, state: str, result: str, phase: str, ready: float) -> None:
    samples = read(show)
    assert ones(samples, catalogue.STATE) == [state]
    assert ones(samples, catalogue.LAST_RESULT) == [result]
    assert ones(samples, catalogue.PHASE) == [phase]
    assert value(samples, catalogue.READY) == ready


def test_sets_are_whole_and_fit_their_bounds_on_four_ports() -> None:
    samples = read(SERVING)
    for metric, names in (
        (catalogue.STATE, tuple(map(str, Active))),
        (catalogue.LAST_RESULT, RESULTS),
        (catalogue.PHASE, PHASES),
    ):
        assert tuple(sample.labels[1] for sample in samples if sample.metric is metric) == names
        assert 4 * len(names) <= metric.most


def test_a_load() -> None:
    samples = read(LOADING)
    assert value(samples, catalogue.LOAD_ELAPSED) == 20.0
    assert value(samples, catalogue.LOAD_ETA) == 12.0
    assert value(samples, catalogue.LOAD_PROGRESS) == 20 / 32
    assert value(samples, catalogue.STARTED) == BEGAN
    assert value(samples, catalogue.LAST_PROGRESS) == BEGAN  # all that is known at the first look
    assert value(samples, catalogue.LAST_EXIT_CODE) is None


def test_nothing_of_a_load_while_it_serves_or_waits_for_the_next_try() -> None:
    gone = (catalogue.LOAD_ELAPSED, catalogue.LOAD_ETA, catalogue.LOAD_PROGRESS, catalogue.LAST_PROGRESS)
    for show in (SERVING, CRASHED):
        assert not [sample for sample in read(show) if sample.metric in gone]


def test_the_exit_code_is_remembered_through_the_next_run_but_not_beyond_the_unit() -> None:
    found, shell = target(show=CRASHED, list="", **NOW)
    collector = UnitCollector(found)
    seen = []
    for show in (CRASHED, LOADING, "", LOADING):
        shell.answers["systemctl show"] = show
        seen.append(value(list(collector.read()), catalogue.LAST_EXIT_CODE))
    assert seen == [70.0, 70.0, None, None]


def moved(*looks: tuple[float, str, str]) -> list[float]:
    """When it last moved, in seconds of the load, after each look: (seconds, show, journal)."""
    found, shell = target(list="")
    collector = UnitCollector(found)
    seen = []
    for at, show, journal in looks:
        shell.answers = {"systemctl show": show, "date": f"{BEGAN + at}\n", "journalctl": journal, "systemctl list": ""}
        seen.append((value(list(collector.read()), catalogue.LAST_PROGRESS) or 0.0) - BEGAN)
    return seen


def line(at: float, message: str) -> str:
    return f'{{"__REALTIME_TIMESTAMP": "{round((BEGAN + at) * 1e6)}", "MESSAGE": "{message}"}}\n'


def test_what_moves_a_load() -> None:
    busy = LOADING.replace("31000000000", "32000000000")
    assert moved((20, LOADING, ""), (25, LOADING, ""), (30, LOADING.replace("38%", "39%"), "")) == [0, 0, 30]
    assert moved((20, LOADING, ""), (25, busy, "")) == [0, 25]
    assert moved((20, LOADING, ""), (25, LOADING.replace("31000000000", "31100000000"), "")) == [0, 0]  # 2 % of a core
    assert moved((20, LOADING, ""), (25, LOADING.replace("TasksCurrent=16", "TasksCurrent=17"), "")) == [0, 25]
    assert moved((20, LOADING, line(15, "Load weight begin"))) == [15]
    assert moved((20, LOADING, busy)) == [0]  # no JSON


def test_what_does_not_move_a_load() -> None:
    spinning = LOADING.replace("weights 38% eta 12s", "warmup eta 0s")
    poll = line(19, 'INFO:     127.0.0.1:57804 - \\"GET /health HTTP/1.1\\" 503')
    busy = spinning.replace("31000000000", "36000000000")
    assert moved((20, spinning, poll), (25, busy, poll)) == [0, 0]
    assert moved((20, spinning, line(12, "Capture") + poll)) == [12]


def test_a_run_of_its_own_begins_anew() -> None:
    again = LOADING.replace("InvocationID=08", "InvocationID=99").replace(f"@{BEGAN:.0f}", f"@{BEGAN + 60:.0f}")
    assert moved((20, LOADING, ""), (61, again, "")) == [0, 60]


def test_a_server_that_was_stopped_and_disabled_is_asked_for_by_the_name_that_its_release_has() -> None:
    found, shell = target(list="", server='{"argv": [], "port": 30007}', show=SERVING)
    UnitCollector(found).read()
    assert "'ddtree-server@*.service' ddtree-server@30007.service " in shell.asked[-1]
    assert found.ports() == (30007,)


def test_hostile_answers() -> None:
    assert read("") == []
    assert read("\n\n\n") == []
    assert read("Id=ddtree-server@99999.service\nLoadState=loaded\n") == []
    assert read("Id=ddtree-server@30000.service\nLoadState=not-found\nActiveState=inactive\n") == []
    endless = read(LOADING.replace("12s", "9" * 40 + "s").replace("MainPID=417", "MainPID=" + "9" * 9000), date="no time")
    assert value(endless, catalogue.LOAD_ETA) is None
    many = "\n\n".join(SERVING.replace("@30000", f"@{port}") for port in range(30000, 30064))
    assert len({sample.labels[0] for sample in read(many)}) == 4


def test_a_journal_that_may_not_be_read_costs_nothing_else() -> None:
    from ddtree_ops.errors import HostTimedOut

    assert value(read(LOADING, journal=HostTimedOut("no end")), catalogue.LOAD_ETA) == 12.0


def test_of_more_than_four_servers_all_read_the_same_and_the_rest_is_told() -> None:
    ports = (900, 30000, 30001, 4000, 30002, 30003)
    names = {port: SERVING.replace("@30000.", f"@{port}.") for port in ports}
    found, _ = target(
        **NOW, show="\n\n".join(names.values()), list="".join(f"ddtree-server@{port}.service loaded\n" for port in ports)
    )
    collector = UnitCollector(found)
    snapshot = Sampler([collector], SystemClock()).read_once()
    assert [one.labels[0] for one in Readings(snapshot).series(catalogue.READY)] == ["900", "4000", "30000", "30001"]
    assert found.ports() == (900, 4000, 30000, 30001)
    assert snapshot.states["unit"].dropped == 2
    assert found.has(30003), "its metrics may still be asked for through us"


def test_a_unit_that_is_new_is_known_to_all_at_once() -> None:
    found, shell = target(**NOW, list="", show=SERVING)
    collector = UnitCollector(found)
    assert found.ports() == ()
    shell.answers["systemctl list-units"] = LIST
    collector.read()
    assert found.ports() == (30000,)
