"""Targets follow the inventory; a broken edit never empties them."""

from __future__ import annotations

import json
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.exporter.catalogue import discovery as metrics
from ddtree_ops.exporter.collectors.discovery import DiscoveryCollector
from ddtree_ops.exporter.discovery import targets
from ddtree_ops.exporter.discovery.file_sd import following, write_targets
from ddtree_ops.exporter.discovery.targets import Discovery, Found
from ddtree_ops.fleet.inventory import load_fleet

HOST = "{{ansible_host: 10.0.0.{n}, ddtree_hardware: b300-8x, ddtree_serving: {{port: {port}, model: {{path: /m}}}}}}"
GOOD = "gpus: {hosts: {a: " + HOST.format(n=1, port=30000) + ", b: " + HOST.format(n=2, port=30000) + "}}\n"
BROKEN_B = GOOD.replace("10.0.0.2, ddtree_hardware: b300-8x", "10.0.0.9, ddtree_hardware: typo")


def _groups(discovery: Discovery, job: str) -> list[dict[str, Any]]:
    return json.loads(discovery.found().bodies[job])  # type: ignore[no-any-return]


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "inventory" / "hosts.yml"
    path.parent.mkdir()
    path.write_text(GOOD)
    return path


def test_the_answer_is_what_prometheus_takes(inventory: Path) -> None:
    groups = _groups(Discovery(inventory), "sglang")
    assert [group["targets"] for group in groups] == [["10.0.0.1:9736"], ["10.0.0.2:9736"]]
    assert set(groups[0]) == {"targets", "labels"}
    assert all(isinstance(value, str) for group in groups for value in group["labels"].values())
    assert groups[0]["labels"]["__meta_ddtree_job"] == "sglang"
    assert _groups(Discovery(inventory), "router") == []
    assert len(_groups(Discovery(inventory), "")) == 8


def test_an_edit_shows_at_once_and_nothing_is_read_without_one(inventory: Path) -> None:
    discovery = Discovery(inventory)
    first = discovery.found()
    assert discovery.found() is first
    inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.77"))
    assert _groups(discovery, "node")[1]["targets"] == ["10.0.0.77:9100"]


def test_a_file_that_appears_counts(inventory: Path) -> None:
    discovery = Discovery(inventory)
    discovery.found()
    (inventory.parent / "host_vars").mkdir()
    (inventory.parent / "host_vars" / "a.yml").write_text("ddtree_monitoring: {dcgm_port: 9400}\n")
    assert [group["targets"] for group in _groups(discovery, "dcgm")] == [["10.0.0.1:9400"]]


def test_a_broken_inventory_keeps_the_last_good_answer_and_says_so(inventory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    times = iter((100.0, 200.0))
    discovery = Discovery(inventory, lambda: next(times))
    good = discovery.found()
    for broken in ("gpus: [\n", "", "gpus: {hosts: {}}\n"):
        inventory.write_text(broken)
        found = discovery.found()
        assert (found.bodies, found.read_at) == (good.bodies, 100.0)
        assert str(inventory) in found.problem
    assert "the targets of 2 hosts as last read are told" in capsys.readouterr().err
    inventory.unlink()
    assert discovery.found().bodies == good.bodies
    inventory.write_text(GOOD)
    assert (discovery.found().problem, discovery.found().read_at) == ("", 200.0)


def test_of_a_broken_host_its_last_good_targets_stay(inventory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    discovery = Discovery(inventory)
    good = discovery.found()
    inventory.write_text(BROKEN_B)
    found = discovery.found()
    assert (found.kept, found.bodies) == (frozenset({"b"}), good.bodies)
    assert "host b: " in capsys.readouterr().err
    inventory.write_text(BROKEN_B.replace("typo", "still"))  # and over the next broken edit
    assert discovery.found().bodies == good.bodies
    inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.9"))
    assert (discovery.found().kept, _groups(discovery, "node")[1]["targets"]) == (frozenset(), ["10.0.0.9:9100"])
    inventory.write_text("gpus: {hosts: {a: " + HOST.format(n=1, port=30000) + "}}\n")
    assert len(_groups(discovery, "node")) == 1  # a host that is gone is gone


def test_what_was_never_good_tells_what_can_be_known(inventory: Path) -> None:
    inventory.write_text(BROKEN_B)
    found = Discovery(inventory).found()
    assert (found.kept, found.problem) == (frozenset(), "")
    assert [group["targets"] for group in json.loads(found.bodies["node"])] == [["10.0.0.1:9100"], ["10.0.0.9:9100"]]
    inventory.write_text("[")
    assert not Discovery(inventory).found().bodies


@pytest.fixture
def no_descriptors() -> Iterator[Callable[[], None]]:
    """Makes every open(2) of this process fail, until the end."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (0, limit[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, limit)


def _give_back_descriptors() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, most), most))


def _until_well(discovery: Discovery) -> Found:
    end = time.monotonic() + 60
    while (found := discovery.found()).problem or any(one.problems for one in found.hosts):
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return found


def test_a_reading_that_failed_is_tried_again_without_an_edit(inventory: Path, no_descriptors: Callable[[], None]) -> None:
    """A file alone: the state of a folder can't be seen without descriptors either, so that it would change by itself."""
    discovery = Discovery(inventory)
    no_descriptors()
    assert "Too many open files" in discovery.found().problem
    _give_back_descriptors()
    assert "10.0.0.2" in _until_well(discovery).bodies["sglang"].decode()


def test_a_mistake_is_not_read_over_and_over(
    inventory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readings = []

    def slow(path: Path) -> object:
        readings.append(path)
        end = time.thread_time() + 0.05
        while time.thread_time() < end:
            pass
        return load_fleet(path)

    monkeypatch.setattr(targets, "load_fleet", slow)
    inventory.write_text("[")
    discovery = Discovery(inventory)
    for _ in range(20):
        assert discovery.found().problem
    assert len(readings) == 1
    discovery.reread()
    assert discovery.found().problem
    assert len(readings) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("error", [LookupError("secret"), RecursionError(), MemoryError(), OSError("no errno")])
def test_whatever_goes_wrong_in_the_reading_is_a_problem_that_is_told(
    inventory: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    discovery = Discovery(inventory)
    good = discovery.found()

    def fails(_path: Path) -> object:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(targets, "load_fleet", fails)
        inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.3"))
        samples = {one.metric.name: one.value for one in DiscoveryCollector(discovery).read()}
        assert samples[metrics.SUCCESS.name] == 0
        assert discovery.found().bodies == good.bodies
        assert type(error).__name__ in discovery.found().problem
        assert "secret" not in discovery.found().problem
    assert "10.0.0.3" in _until_well(discovery).bodies["sglang"].decode()


def test_metrics_tell_of_a_broken_edit(inventory: Path) -> None:
    discovery = Discovery(inventory, lambda: 100.0)
    collector = DiscoveryCollector(discovery)

    def read() -> dict[tuple[str, ...], float]:
        return {(one.metric.name, *one.labels): one.value for one in collector.read()}

    assert read()[(metrics.SUCCESS.name,)] == 1
    assert read()[(metrics.TARGETS.name, "sglang")] == 2
    inventory.write_text(BROKEN_B)
    assert (read()[(metrics.SUCCESS.name,)], read()[(metrics.BROKEN.name,)]) == (1, 1)
    inventory.write_text("[")
    broken = read()
    assert broken[(metrics.SUCCESS.name,)] == 0
    assert broken[(metrics.LAST_SUCCESS.name,)] == 100
    assert broken[(metrics.TARGETS.name, "sglang")] == 2


def test_a_thousand_unchanged_hosts_are_read_once(tmp_path: Path) -> None:
    hosts = ",\n".join(f"h{n}: " + HOST.format(n=n % 250, port=30000) for n in range(1000))
    (tmp_path / "hosts.yml").write_text("gpus: {hosts: {" + hosts + "}}\n")
    discovery = Discovery(tmp_path)
    first = discovery.found()
    assert len(first.bodies["sglang"]) > 100_000
    assert discovery.found() is first


def test_a_request_does_not_wait_for_a_slow_reading(inventory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    discovery = Discovery(inventory)
    first = discovery.found()
    go_on = threading.Event()
    monkeypatch.setattr("ddtree_ops.exporter.discovery.targets.load_fleet", lambda path: go_on.wait(5) and load_fleet(path))
    inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.3"))
    reading = threading.Thread(target=discovery.found)
    reading.start()
    assert discovery.last is first
    inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.4"))  # while the one of before is being read
    go_on.set()
    reading.join(5)
    assert [group["targets"] for group in _groups(discovery, "node")] == [["10.0.0.1:9100"], ["10.0.0.4:9100"]]
    assert discovery.last is discovery.found()


def test_the_file_is_replaced_only_when_targets_change(inventory: Path, tmp_path: Path) -> None:
    discovery, path = Discovery(inventory), tmp_path / "targets.json"
    assert write_targets(discovery, path)
    before = path.stat()
    assert before.st_mode & 0o777 == 0o644
    assert json.loads(path.read_bytes()) == _groups(discovery, "")
    inventory.write_text(GOOD + "# a remark\n")
    assert not write_targets(discovery, path)
    assert path.stat().st_ino == before.st_ino
    inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.3"))
    assert write_targets(discovery, path)
    assert path.stat().st_ino != before.st_ino
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["targets.json"]


def test_a_file_of_before_stays_while_nothing_can_be_read(inventory: Path, tmp_path: Path) -> None:
    path = tmp_path / "targets.json"
    path.write_text("[]")
    inventory.write_text("[")
    assert not write_targets(Discovery(inventory), path)
    assert path.read_text() == "[]"


def test_the_file_follows_in_the_background(inventory: Path, tmp_path: Path) -> None:
    path = tmp_path / "targets.json"
    file = following(Discovery(inventory), path, seconds=0.02)
    file.start()
    try:
        inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.3"))
        end = time.monotonic() + 60
        while b"10.0.0.3" not in path.read_bytes() and time.monotonic() < end:
            time.sleep(0.01)
        assert b"10.0.0.3" in path.read_bytes()
    finally:
        file.close()
    with pytest.raises(OSError, match="nowhere"):
        following(Discovery(inventory), tmp_path / "nowhere" / "t.json").start()


def test_a_file_that_can_not_be_written_any_more_is_told_once(
    inventory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "prometheus"
    folder.mkdir()
    file = following(Discovery(inventory), folder / "targets.json", seconds=0.01)
    file.start()
    try:
        folder.rename(tmp_path / "gone")
        end, told = time.monotonic() + 60, ""
        while "targets.json stays as it was: " not in told and time.monotonic() < end:
            time.sleep(0.01)
            told += capsys.readouterr().err
        time.sleep(0.1)
        assert told.count("stays as it was") == 1
        assert capsys.readouterr().err == ""
        (tmp_path / "gone").rename(folder)
        inventory.write_text(GOOD.replace("10.0.0.2", "10.0.0.3"))
        while b"10.0.0.3" not in (folder / "targets.json").read_bytes() and time.monotonic() < end:
            time.sleep(0.01)
        assert b"10.0.0.3" in (folder / "targets.json").read_bytes()
    finally:
        file.close()
