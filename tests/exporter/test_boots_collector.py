"""Boots are counted once, over restarts of the exporter and over the fifty that the launcher keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.catalogue import unit as catalogue
from ddtree_ops.exporter.collectors.boots import BootsCollector
from ddtree_ops.exporter.metric import Metric, Sample
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.sight.readings import Readings
from ddtree_ops.ports import Command, Completed
from ddtree_ops.units.eta import Boot, Outcome, read_history
from tests.exporter.said_shell import LIST, SaidShell, recorded, target

RECORD = read_history(recorded("boots.jsonl").splitlines())[0]


def boot(number: int, outcome: Outcome = Outcome.READY, **changes: object) -> Boot:
    fields = {"invocation": f"{number:032x}", "started": f"2026-11-30T08:{number:02}:00.000Z", "outcome": outcome, **changes}
    return replace(RECORD, **fields)  # type: ignore[arg-type]


def text(*boots: Boot) -> str:
    return "".join(each.to_json() + "\n" for each in boots)


def collector(state: Path | None, *boots: Boot) -> tuple[BootsCollector, SaidShell]:
    files = "30000.jsonl\n" if boots else ""
    found, shell = target(list=LIST, boots=text(*boots), files=files, current="releases/lab-1\n")
    return BootsCollector(found, state), shell


def totals(found: BootsCollector) -> dict[str, float]:
    return {sample.labels[1]: sample.value for sample in found.read() if sample.metric is catalogue.BOOTS and sample.value}


def values(samples: list[Sample], metric: Metric) -> list[float]:
    return [sample.value for sample in samples if sample.metric is metric]


def test_counted_once(tmp_path: Path) -> None:
    first, shell = collector(tmp_path, boot(1), boot(2))
    assert totals(first) == {}
    shell.answers["env LC_ALL=C.UTF-8 cat"] = text(boot(1), boot(2), boot(3, Outcome.CRASHED), boot(4))
    assert totals(first) == totals(first) == {"crashed": 1.0, "ready": 1.0}
    again, _ = collector(tmp_path, boot(2), boot(3, Outcome.CRASHED), boot(4), boot(5, Outcome.CRASHED))
    assert totals(again) == {"crashed": 2.0, "ready": 1.0}


def test_fifty_boots_while_it_was_away_and_a_file_that_vanished(tmp_path: Path) -> None:
    first, _ = collector(tmp_path, boot(1))
    totals(first)
    again, shell = collector(tmp_path, *(boot(number, Outcome.STALLED) for number in range(5, 55)))
    assert totals(again) == {"stalled": 50.0}
    del shell.answers["env LC_ALL=C.UTF-8 cat"]
    assert totals(again) == {"stalled": 50.0}


def test_the_first_boot_of_a_host_counts(tmp_path: Path) -> None:
    first, shell = collector(tmp_path)
    assert totals(first) == {}
    shell.answers["env LC_ALL=C.UTF-8 cat"] = text(boot(1, Outcome.REFUSED))
    assert totals(first) == {"refused": 1.0}


def test_ports_that_were_used_once_take_no_place_from_the_one_that_is(tmp_path: Path) -> None:
    unused: dict[str, object] = {str(port): {"known": [], "totals": {}} for port in range(1024, 1034)}
    (tmp_path / "boots.json").write_text(json.dumps({"ports": {**unused, "30000": {"known": None, "totals": {}}}}))
    first, _ = collector(tmp_path, boot(1))
    totals(first)
    again, _ = collector(tmp_path, boot(1), boot(2))
    assert totals(again) == {"ready": 1.0}


@pytest.mark.parametrize("text", ["{torn", "{}", '{"ports": {"30000": {"known": 5, "totals": {}}}}'])
def test_damaged_counts_are_set_aside(tmp_path: Path, text: str) -> None:
    (tmp_path / "boots.json").write_text(text)
    first, _ = collector(tmp_path, boot(1))
    assert totals(first) == {}
    assert (tmp_path / "boots.json.aside").exists()


def test_usual_seconds_are_those_of_this_release_else_of_any() -> None:
    boots = [boot(n, release="lab-1", seconds=float(n)) for n in (1, 2, 9)]
    other = boot(10, release="lab-0", seconds=100.0)
    crashed = boot(11, Outcome.CRASHED, release="lab-1", seconds=500.0)
    assert values(list(collector(None, *boots, other, crashed)[0].read()), catalogue.LOAD_USUAL) == [2.0]
    assert values(list(collector(None, other)[0].read()), catalogue.LOAD_USUAL) == [100.0]
    assert values(list(collector(None, crashed)[0].read()), catalogue.LOAD_USUAL) == []


def test_segments_of_the_last_boot_are_of_known_names() -> None:
    odd = boot(3, segments=(("weights", 1.0), ("draft_weights", 2.0), ("weights", 3.0), ("a prompt", 9.0)))
    samples = list(collector(None, boot(1), odd)[0].read())
    found = {sample.labels[1]: sample.value for sample in samples if sample.metric is catalogue.BOOT_SEGMENT}
    assert found == {"weights": 4.0, "draft_weights": 2.0}
    assert values(samples, catalogue.BOOT_SECONDS) == [odd.seconds]


def test_a_file_that_may_not_be_read_is_an_error_and_not_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    found, shell = collector(None)
    run = shell.run

    def denied(command: Command) -> Completed:
        return Completed(command, 1, "", "cat: 30000.jsonl: Permission denied", 0.0) if "cat" in command.argv else run(command)

    monkeypatch.setattr(shell, "run", denied)
    with pytest.raises(HostCommandFailed, match="Permission denied"):
        found.read()


def test_a_clock_that_was_wrong_for_one_boot_stops_no_counting(tmp_path: Path) -> None:
    first, shell = collector(tmp_path, boot(1))
    totals(first)
    for boots in ((boot(1), boot(2, started="2099-01-01T00:00:00.000Z")), (boot(3), boot(4, started="1970-01-01T00:00:09.000Z"))):
        shell.answers["env LC_ALL=C.UTF-8 cat"] = text(*boots)
        totals(first)
    assert totals(first) == {"ready": 3.0}


def test_an_older_copy_that_was_put_back_counts_for_nothing(tmp_path: Path) -> None:
    first, shell = collector(tmp_path, boot(1), boot(2))
    totals(first)
    shell.answers["env LC_ALL=C.UTF-8 cat"] = text(*(boot(number) for number in range(1, 50)))
    assert totals(first) == {"ready": 47.0}
    shell.answers["env LC_ALL=C.UTF-8 cat"] = text(*(boot(number) for number in range(1, 30)), boot(50))
    assert totals(first) == {"ready": 48.0}


def test_a_port_that_is_new_has_no_past(tmp_path: Path) -> None:
    first, _ = collector(tmp_path, boot(1))
    totals(first)
    both = LIST + LIST.replace("30000", "30001")
    later, _ = target(list=both, boots=text(boot(1), boot(2)), files="30000.jsonl\n30001.jsonl\n")
    found = BootsCollector(later, tmp_path).read()
    ready = {sample.labels[0]: sample.value for sample in found if sample.labels[1:] == ("ready",)}
    assert ready == {"30000": 1.0, "30001": 2.0}


def test_counts_that_could_not_be_kept_are_told_and_are_a_failure_until_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    first, _ = collector(tmp_path, boot(1))
    sampler = Sampler([first], SystemClock())
    with monkeypatch.context() as patch:
        patch.setattr("ddtree_ops.exporter.state_file.replace", full)
        for _ in range(2):
            found = sampler.read_once()
            assert not found.states["boots"].success
            assert "boots.json can't be written" in (found.states["boots"].error or "")
            assert Readings(found).value(catalogue.BOOTS, "30000", "ready") == 0
    assert sampler.read_once().states["boots"].success
    assert json.loads((tmp_path / "boots.json").read_text())["ports"].keys() == {"30000"}
