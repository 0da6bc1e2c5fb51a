"""What is installed and what of it runs, from real files, links and programs, as any user of the host may see it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from ddtree_ops.exporter.collectors.releases import ReleasesCollector
from ddtree_ops.exporter.releases import deadline
from ddtree_ops.exporter.releases.settings import ServerSettings, read_settings
from tests.exporter.shells import INVOCATION, PORT, RELEASE, STARTED, HostFolder

OTHER = "lab-fedcba9876"
TREE = ("--speculative-ddtree-budget", "31", "--speculative-dflash-block-size", "8")


@pytest.fixture
def host(tmp_path: Path) -> HostFolder:
    return HostFolder(tmp_path)


def told(collector: ReleasesCollector) -> dict[tuple[str, ...], float]:
    return {(one.metric.name.removeprefix("ddtree_ops_"), *one.labels): one.value for one in collector.read()}


def roles(collector: ReleasesCollector) -> dict[str, str]:
    return {labels[2]: labels[3] for labels in told(collector) if labels[0] == "release_info"}


def moved(host: HostFolder, seconds: float) -> None:
    """When the link `current` was last moved, from the start of the process on."""
    os.utime(host.opt / "current", (STARTED + seconds,) * 2, follow_symlinks=False)


def test_the_launchers_record_says_what_runs(host: HostFolder) -> None:
    host.release(OTHER)
    host.boot(OTHER)
    host.boot(RELEASE, "another run")
    moved(host, 60)
    assert roles(ReleasesCollector(host.target())) == {"serving": OTHER, "current": RELEASE, "last_good": RELEASE}


@pytest.mark.parametrize(("seconds", "known"), [(-60, True), (0.4, True), (1.0, False), (60, False)])
def test_without_a_record_only_a_start_after_the_switch_does(host: HostFolder, seconds: float, known: bool) -> None:
    moved(host, seconds)
    assert roles(ReleasesCollector(host.target())).get("serving") == (RELEASE if known else None)


@pytest.mark.parametrize(
    "changed",
    [{"ActiveState": "activating", "SubState": "start"}, {"MainPID": "0", "ActiveState": "failed", "SubState": "failed"}],
)
def test_what_loads_or_is_down_serves_nothing(host: HostFolder, changed: dict[str, str]) -> None:
    host.boot(RELEASE)
    host.unit(**changed)
    assert "serving" not in roles(ReleasesCollector(host.target()))


def test_a_release_that_is_gone_is_told_nowhere(host: HostFolder) -> None:
    host.boot("lab-removed")
    host.link("last-good", "lab-removed")
    found = told(ReleasesCollector(host.target()))
    assert {key[2:] for key in found if key[0] == "release_info"} == {("current", RELEASE)}
    assert found["releases_staged",] == 1


def test_settings_and_gpus_are_those_of_what_serves(host: HostFolder) -> None:
    host.release(
        OTHER, *TREE, "--speculative-algorithm", "DDTREE", "--speculative-draft-model-path", "/srv/models/draft/", "--pp", "1"
    )
    host.boot(OTHER)
    found = told(ReleasesCollector(host.target()))
    assert found["server_settings_info", str(PORT), "kimi", "draft", "DDTREE", "8"] == 1
    assert (found["speculation_budget_nodes", str(PORT)], found["speculation_block_tokens", str(PORT)]) == (31, 8)
    assert found["gpus_expected",] == 8


def test_while_nothing_serves_the_current_release_counts(host: HostFolder) -> None:
    host.unit(ActiveState="failed", SubState="failed", MainPID="0")
    found = told(ReleasesCollector(host.target()))
    assert ("server_settings_info", str(PORT), "kimi", "", "", "8") in found
    (host.opt / "current").unlink()
    assert "gpus_expected" not in {key[0] for key in told(ReleasesCollector(host.target()))}


def test_settings_are_read_once(host: HostFolder) -> None:
    host.boot(RELEASE)
    collector = ReleasesCollector(host.target())
    collector.read()
    host.shell.asked.clear()
    collector.read()
    assert [argv[0] for argv in host.shell.asked] == ["find", "systemctl"]


def test_a_host_without_anything_of_ours(host: HostFolder) -> None:
    for path in (host.opt / "current", host.opt / "last-good"):
        path.unlink()
    (host.opt / "releases" / RELEASE).rename(host.opt / "releases" / f".removing-{RELEASE}")
    host.shell.units = {}
    assert told(ReleasesCollector(host.target())) == {("releases_staged",): 0}


@pytest.mark.parametrize("name", ["a b", "a\nb", "x" * 200])
def test_odd_names_among_the_releases(host: HostFolder, name: str) -> None:
    (host.opt / "releases" / name).mkdir()
    assert roles(ReleasesCollector(host.target()))["current"] == RELEASE


@pytest.mark.parametrize("text", ["", "null", "[]", '{"argv": 1}', "[" * 100_000, '{"argv": [1, null, "--tp"], "port": {}}'])
def test_settings_that_are_none(text: str) -> None:
    found = read_settings(text)
    assert found is None or found == ServerSettings(None, "", "", "", 1, 1, None, None)


@pytest.mark.parametrize(
    ("words", "gpus"),
    [
        (["--tp", "8"], 8),
        (["--tensor-parallel-size=4", "--pp-size", "2"], 8),
        (["--tp-size", "2", "--dp-size", "4"], 8),
        (["--tp-size", "8", "--dp-size", "8", "--enable-dp-attention"], 8),
        (["--tp-size", "16", "--nnodes", "2"], 8),
        (["--tp-size", "0"], 1),
    ],
)
def test_gpus_that_a_server_needs(words: list[str], gpus: int) -> None:
    found = read_settings(json.dumps({"argv": words}))
    assert found is not None and found.gpus == gpus


def boot_facts() -> tuple[str, float]:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip(), time.clock_gettime(time.CLOCK_BOOTTIME)


def test_the_deadline_is_on_the_clock_of_everybody(host: HostFolder) -> None:
    boot, now = boot_facts()
    orders = {"release": RELEASE, "deadline": now + 300, "boot_id": boot, "after_s": 900}
    (host.state / "deadman.json").write_text(json.dumps(orders))
    assert told(ReleasesCollector(host.target()))["deploy_deadline_timestamp_seconds",] == pytest.approx(time.time() + 300, abs=2)
    (host.state / "deadman.json").write_text(json.dumps({**orders, "boot_id": "another"}))
    after = told(ReleasesCollector(host.target()))["deploy_deadline_timestamp_seconds",]
    assert after == pytest.approx(time.time() - now + 900, abs=2), "the timer began anew with the system"


@pytest.mark.parametrize("orders", ["", "{}", '{"deadline": "soon"}', '{"deadline": 1e999, "after_s": NaN}', '{"after_s": true}'])
def test_damaged_orders_have_no_deadline(host: HostFolder, orders: str) -> None:
    (host.state / "deadman.json").write_text(orders)
    assert "deploy_deadline_timestamp_seconds" not in {key[0] for key in told(ReleasesCollector(host.target()))}


def test_no_answer_at_all_has_no_deadline() -> None:
    assert deadline.parse("tail: cannot open", time.time()) is None


def test_the_invocation_is_what_counts() -> None:
    assert len(INVOCATION) == 32, "as systemd prints it, and as the launcher records it"
