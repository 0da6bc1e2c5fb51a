"""What is installed and what of it runs, from real files, links and programs, as any user of the host may see it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.collectors.releases import ReleasesCollector
from ddtree_ops.exporter.releases import deadline
from ddtree_ops.exporter.releases.settings import ServerSettings, read_settings
from ddtree_ops.ports import Command, Completed
from tests.exporter.shells import INVOCATION, PORT, RELEASE, STARTED, HostFolder

pytestmark = pytest.mark.processes

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
    assert [argv[0] for argv in host.shell.asked] == ["env", "systemctl"]


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


def armed(host: HostFolder, seconds_ago: float, **orders: object) -> float | None:
    """The deadline that is told of a timer that was started so long ago."""
    since = time.clock_gettime(time.CLOCK_BOOTTIME) - seconds_ago
    host.shell.timer = {"ActiveState": "active", "ActiveEnterTimestampMonotonic": str(int(since * 1e6))}
    record = {"release": RELEASE, "deadline": since + 900, "boot_id": "of a container", "after_s": 900, **orders}
    (host.state / "deadman.json").write_text(json.dumps(record))
    return told(ReleasesCollector(host.target())).get(("deploy_deadline_timestamp_seconds",))


def test_the_deadline_is_that_of_the_timer_whatever_the_boot_is_called(host: HostFolder) -> None:
    assert armed(host, 600) == pytest.approx(time.time() + 300, abs=2)


def test_a_deadline_that_is_long_past_is_none(host: HostFolder) -> None:
    assert armed(host, 900) == pytest.approx(time.time(), abs=2)
    assert armed(host, 970) is None


@pytest.mark.parametrize("timer", [{}, {"ActiveState": "inactive"}, {"ActiveEnterTimestampMonotonic": "0"}])
def test_a_timer_that_does_not_count_has_no_deadline(host: HostFolder, timer: dict[str, str]) -> None:
    assert armed(host, 600) is not None
    host.shell.timer = {**host.shell.timer, **timer} if timer else {}
    assert "deploy_deadline_timestamp_seconds" not in {key[0] for key in told(ReleasesCollector(host.target()))}


@pytest.mark.parametrize("waits", ["soon", True, -1, 1e300, None, [900]])
def test_damaged_orders_have_no_deadline(host: HostFolder, waits: object) -> None:
    assert armed(host, 600, after_s=waits) is None
    (host.state / "deadman.json").write_text('{"after_s": 1e999')
    assert "deploy_deadline_timestamp_seconds" not in {key[0] for key in told(ReleasesCollector(host.target()))}


def test_a_directory_that_is_closed_to_us_is_a_failed_reading(host: HostFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run = host.shell.run

    def denied(command: Command) -> Completed:
        done = run(command)
        said = "find: '/var/lib/ddtree': Permission denied\n"
        return replace(done, exit_code=1, stderr=said) if "find" in command.argv else done

    monkeypatch.setattr(host.shell, "run", denied)
    with pytest.raises(HostCommandFailed, match="Permission denied"):
        ReleasesCollector(host.target()).read()


def test_no_answer_at_all_has_no_deadline() -> None:
    assert deadline.parse("tail: cannot open", "", time.time()) is None


def test_the_invocation_is_what_counts() -> None:
    assert len(INVOCATION) == 32, "as systemd prints it, and as the launcher records it"
