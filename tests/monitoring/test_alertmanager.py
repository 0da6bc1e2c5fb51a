"""Alertmanager's configuration: what Debian's own makes of it, with alerts that are really sent to it."""

from __future__ import annotations

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

from tests.monitoring.promtool import PROJECT, program, rules, run
from tests.monitoring.scraped import HANGS
from tests.ports import free_port

pytestmark = pytest.mark.processes

TEMPLATE = PROJECT / "dashboards" / "alertmanager" / "alertmanager.yml.j2"
SERVER = {"host": "a", "port": "30000"}


def written(folder: Path, **variables: Any) -> Path:
    """The configuration, rendered as Ansible does it."""
    environment = jinja2.Environment(trim_blocks=True, undefined=jinja2.StrictUndefined)  # noqa: S701 - YAML, not HTML
    environment.filters |= {"to_json": json.dumps, "combine": lambda one, other: {**one, **other}}
    path = folder / "alertmanager.yml"
    path.write_text(environment.from_string(TEMPLATE.read_text()).render(**variables))
    return path


@contextmanager
def running(config: Path) -> Iterator[str]:
    """Its address."""
    port = free_port()
    own = (f"--web.listen-address=127.0.0.1:{port}", f"--storage.path={config.parent / 'data'}", "--cluster.listen-address=")
    argv = (program("prometheus-alertmanager"), f"--config.file={config}", *own)
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{port}/api/v2/alerts"
    finally:
        process.terminate()
        process.wait(10)


def sent(address: str, *alerts: dict[str, str]) -> dict[tuple[str, str], bool]:
    """Which of them, by name and host, are held back."""
    body = json.dumps([{"labels": {"severity": "page", **labels}} for labels in alerts]).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310
    end = time.monotonic() + HANGS
    while time.monotonic() < end:
        with suppress(OSError):  # it doesn't listen yet
            urllib.request.urlopen(request, timeout=5).close()  # noqa: S310
            break
        time.sleep(0.1)
    with urllib.request.urlopen(address, timeout=HANGS) as answer:  # noqa: S310
        found = json.load(answer)
    return {(one["labels"]["alertname"], one["labels"]["host"]): bool(one["status"]["inhibitedBy"]) for one in found}


def test_amtool_takes_it_with_and_without_receivers(tmp_path: Path) -> None:
    run(("amtool", "check-config", str(written(tmp_path))), tmp_path)
    pager = {"page": {"webhook_configs": [{"url": "http://127.0.0.1:9/"}]}}
    path = written(tmp_path, monitoring_receivers=pager, monitoring_alertmanager_global={"resolve_timeout": "3m"})
    assert "SUCCESS" in run(("amtool", "check-config", str(path)), tmp_path)
    receivers = {one["name"]: one for one in yaml.safe_load(path.read_text())["receivers"]}
    assert receivers == {"page": {"name": "page", **pager["page"]}, "ticket": {"name": "ticket"}, "info": {"name": "info"}}


@pytest.mark.parametrize("severity", ["page", "ticket", "info"])
def test_severities_reach_their_receiver(tmp_path: Path, severity: str) -> None:
    path = written(tmp_path)
    argv = ("amtool", "config", "routes", "test", f"--config.file={path}", f"severity={severity}", "alertname=X")
    assert run(argv, tmp_path).strip() == severity


def test_it_names_only_alerts_and_labels_that_there_are() -> None:
    alerts = {rule.name for rule in rules() if rule.alert}
    named = re.findall(r'alertname!?=~?"([^"]+)"', TEMPLATE.read_text())
    assert len(named) > 10
    for pattern in (part for one in named for part in one.split("|")):
        assert any(re.fullmatch(pattern, alert) for alert in alerts), pattern


def test_what_follows_from_something_else_is_held_back(tmp_path: Path) -> None:
    with running(written(tmp_path)) as address:
        held = sent(
            address,
            {"alertname": "ServerCrashed", "fingerprint": "f1", "kind": "host_oom", **SERVER},
            {"alertname": "ServerStillCrashed", "severity": "info", **SERVER},
            {"alertname": "ServerDown", **SERVER},
            {"alertname": "ServerNotAnswering", **SERVER},
            {"alertname": "KernelKilledServer", "host": "a"},
            {"alertname": "DiskFilling", "host": "a", "mountpoint": "/"},
            {"alertname": "ServerDown", "host": "b", "port": "30000"},
            {"alertname": "ServerCrashed", "fingerprint": "f1", "kind": "unknown", "host": "b", "port": "30001"},
            {"alertname": "KernelKilledServer", "host": "b"},
            {"alertname": "HostUnreachable", "host": "c"},
            {"alertname": "ServerProbeFailing", "host": "c", "port": "30000"},
            {"alertname": "TargetMissing", "host": "d", "job": "node"},
        )
    assert held == {
        ("ServerCrashed", "a"): False,
        ("ServerStillCrashed", "a"): True,  # but what it holds back stays so
        ("ServerDown", "a"): True,
        ("ServerNotAnswering", "a"): True,
        ("KernelKilledServer", "a"): True,
        ("DiskFilling", "a"): False,
        ("ServerDown", "b"): False,  # the crash was the other port's
        ("ServerCrashed", "b"): False,
        ("KernelKilledServer", "b"): False,
        ("HostUnreachable", "c"): False,
        ("ServerProbeFailing", "c"): True,
        ("TargetMissing", "d"): False,
    }


def test_a_new_fault_is_told_when_the_server_was_ready_after_its_crash(tmp_path: Path) -> None:
    with running(written(tmp_path)) as address:
        held = sent(
            address,
            {"alertname": "ServerCrashed", "fingerprint": "f1", "kind": "unknown", **SERVER},
            {"alertname": "ServerCrashLoop", **SERVER},
            {"alertname": "ServerNotAnswering", **SERVER},
            {"alertname": "ServerCrashed", "fingerprint": "f1", "kind": "unknown", "host": "b", "port": "30000"},
            {"alertname": "ServerDown", "host": "b", "port": "30000"},
        )
    assert held == {
        ("ServerCrashed", "a"): False,
        ("ServerCrashLoop", "a"): True,
        ("ServerNotAnswering", "a"): False,
        ("ServerCrashed", "b"): False,
        ("ServerDown", "b"): False,
    }
