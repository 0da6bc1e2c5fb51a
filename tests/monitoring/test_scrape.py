"""A real Prometheus finds hosts by our discovery and stores what they say under the names that rules and dashboards know."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from ddtree_ops.exporter.discovery.file_sd import write_targets
from ddtree_ops.exporter.discovery.targets import Discovery
from tests.monitoring.scrape_config import render
from tests.monitoring.scraped import PASSWORD, RECORDED, Played, Prometheus, played, prometheus
from tests.ports import free_port

pytestmark = pytest.mark.processes

HOSTS = """
gpus:
  vars:
    ddtree_hardware: b300-8x
    ddtree_serving_defaults: {{model: {{path: /models/kimi-k2.6/}}}}
    ddtree_monitoring: {{address: 127.0.0.1, exporter_port: {port}, node_port: null}}
  hosts:
    inside: {{}}
    wide: {{ddtree_serving: {{listen: 0.0.0.0, port: {port}}}}}
"""


@dataclass(frozen=True)
class Run:
    prometheus: Prometheus
    asked: Played
    port: int
    inventory: Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("scrape")
    port = free_port()
    inventory = folder / "hosts.yml"
    inventory.write_text(HOSTS.format(port=port))
    secret = folder / "password"
    secret.write_text(PASSWORD)
    config = folder / "prometheus.yml"
    here = f"127.0.0.1:{port}"
    config.write_text(
        render(scrape_interval="1s", sd_url=f"http://{here}", sd_refresh="1s", blackbox=here, password_file=str(secret))
    )
    with played(port, inventory) as server, prometheus(config, folder / "data") as running:
        running.until('up{job=~"sglang|ddtree-.*"} == 1', 6)  # three jobs of two hosts
        yield Run(running, server, port, inventory)


def test_every_name_is_stored_in_one_spelling(run: Run) -> None:
    recorded = set(re.findall(rb"^(sglang:[a-z0-9_]+)", RECORDED.read_bytes(), re.MULTILINE))
    assert len(recorded) > 70
    stored = set(run.prometheus.get("label/__name__/values"))
    assert {name.decode().replace(":", "_", 1) for name in recorded} <= stored
    assert not [name for name in stored if ":" in name]


def test_labels_come_from_the_inventory(run: Run) -> None:
    found = run.prometheus.series('sglang_num_running_reqs{host="inside"}')
    wanted = {"job": "sglang", "instance": "inside:30000", "port": "30000", "hardware": "b300-8x", "model": "kimi-k2.6"}
    assert found
    assert wanted.items() <= found[0].items()
    assert not [name for name in found[0] if name.startswith(("__meta", "exported_"))]


def test_a_wide_server_is_asked_itself_without_the_exporters_password(run: Run) -> None:
    targets = run.prometheus.get("targets", state="active")["activeTargets"]
    urls = {one["labels"]["instance"]: one["scrapeUrl"] for one in targets if one["labels"]["job"] == "sglang"}
    here = f"http://127.0.0.1:{run.port}"
    assert urls == {"inside:30000": f"{here}/server/30000/metrics", f"wide:{run.port}": f"{here}/metrics"}
    # With the password it would have been taken for the exporter.
    assert run.prometheus.series(f'sglang_num_running_reqs{{host="wide",port="{run.port}"}}')


def test_series_of_server_and_exporter_join_by_host_and_port(run: Run) -> None:
    query = "ddtree_ops_server_ready * on (host, port) group_right () max by (host, port, model_name) (sglang_num_running_reqs)"
    assert [one["host"] for one in run.prometheus.until(query, 1)] == ["inside"]


def test_the_probe_asks_for_health_through_the_exporter(run: Run) -> None:
    probes = {query for path, query, _ in run.asked.asked if path == "/probe"}
    here = f"127.0.0.1%3A{run.port}"
    assert f"module=ddtree_health&target=http%3A%2F%2F{here}%2Fserver%2F30000%2Fhealth" in probes
    assert f"module=ddtree_health&target=http%3A%2F%2F{here}%2Fhealth" in probes


def test_one_edit_of_the_inventory_moves_the_targets(run: Run) -> None:
    inventory = run.inventory
    inventory.write_text(inventory.read_text().replace("inside: {}", "inside: {}\n    later: {}"))
    run.prometheus.until('up{job="ddtree-exporter",host="later"} == 1', 1)
    inventory.write_text("gpus: [")
    told = run.asked.discovery.found()
    assert told.problem
    assert {one.host for one in told.hosts} == {"inside", "wide", "later"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"sd_url": "", "sd_files": ["targets/*.json"]},
        {"sd_files": ["targets/*.json"]},
        {"ca_file": "ca.pem", "node_access": True},
        {"password_file": ""},
        {"password_file": "", "ca_file": "ca.pem"},
    ],
)
def test_debians_own_checker_takes_the_configuration(more: dict[str, object], tmp_path: Path) -> None:
    for name in ("ca.pem", "secret"):
        (tmp_path / name).touch()
    config = tmp_path / "prometheus.yml"
    common = {"sd_url": "https://c:9736/", "password_file": "secret", "alertmanagers": ["127.0.0.1:9093"]}
    config.write_text(render(**{**common, "external_labels": {"site": "a"}, "rule_files": ["rules/*.yml"], **more}))
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(HOSTS.format(port=9736))
    (tmp_path / "targets").mkdir()
    assert write_targets(Discovery(inventory), tmp_path / "targets" / "all.json")
    assert _checked(config) == (0, "")


def test_the_checker_reads_the_file_of_targets_too(tmp_path: Path) -> None:
    """Else the test above would say nothing of it."""
    config = tmp_path / "prometheus.yml"
    config.write_text(render(sd_files=["wrong.json"]))
    (tmp_path / "wrong.json").write_text('[{"targets": "a"}]')
    assert _checked(config)[0] != 0


def _checked(config: Path) -> tuple[int, str]:
    done = subprocess.run(("promtool", "check", "config", config), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_the_variant_for_3_differs_in_what_only_3_knows(tmp_path: Path) -> None:
    """Its keys: prometheus.io/docs/prometheus/latest/configuration (3.x); all else is what 2.42 has checked."""
    two, three = (yaml.safe_load(render(prometheus_major=major, sd_url="http://c:9736")) for major in (2, 3))
    assert three["global"].pop("metric_name_validation_scheme") == "legacy"
    fallbacks = {job["job_name"]: job.pop("fallback_scrape_protocol", None) for job in three["scrape_configs"]}
    assert {name for name, protocol in fallbacks.items() if protocol == "PrometheusText0.0.4"} == {
        "sglang",
        "sglang-direct",
        "router",
    }
    assert two == three
