"""An inventory as Prometheus' targets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.inventory_state import inventory_state
from ddtree_ops.fleet.scrape_targets import HostTargets, Job, ScrapeTarget, scrape_targets

INVENTORY = """
gpus:
  vars:
    ddtree_hardware: b300-8x
    ddtree_serving_defaults: {model: {path: /models/kimi-k2.6}}
  hosts:
    plain: {ansible_host: 10.0.0.1}
    six: {ansible_host: 'fd00::6', ddtree_monitoring: {scheme: https, node_scheme: https, dcgm_port: 9400}}
    wide: {ansible_host: 10.0.0.2, ddtree_serving: {listen: 0.0.0.0, port: 31000}}
    one_address: {ansible_host: 10.0.0.3, ddtree_serving: {listen: 192.0.2.9}}
    far: {ddtree_monitoring: {mode: controller, controller: ops, node_port: null}}
    no_hardware: {ansible_host: 10.0.0.4, ddtree_hardware: nothing}
    no_port: {ansible_host: 10.0.0.5, ddtree_serving: {port: 1}}
    no_settings: {ddtree_monitoring: {mode: nowhere}}
    no_address: {ansible_host: 'a b'}
monitoring:
  hosts:
    watcher: {}
others:
  hosts:
    router: {ddtree_monitoring: {router_port: 29000, node_port: null}}
    database: {}
"""


def _found(tmp_path: Path) -> dict[str, HostTargets]:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    return {one.host: one for one in scrape_targets(load_fleet(tmp_path))}


def _by_job(found: HostTargets) -> dict[Job, ScrapeTarget]:
    return {target.job: target for target in found.targets}


def test_a_host_that_serves_is_scraped_through_its_exporter(tmp_path: Path) -> None:
    jobs = _by_job(_found(tmp_path)["plain"])
    assert set(jobs) == {Job.EXPORTER, Job.SGLANG, Job.PROBE, Job.NODE}
    known = {"host": "plain", "hardware": "b300-8x", "model": "kimi-k2.6"}
    assert jobs[Job.EXPORTER].address == "10.0.0.1:9736"
    assert jobs[Job.EXPORTER].labels == {**known, "instance": "plain", "__scheme__": "http", "__metrics_path__": "/metrics"}
    server = {**known, "instance": "plain:30000", "port": "30000", "__scheme__": "http"}
    assert jobs[Job.SGLANG] == ScrapeTarget(Job.SGLANG, "10.0.0.1:9736", {**server, "__metrics_path__": "/server/30000/metrics"})
    target = {"__metrics_path__": "/probe", "__param_target": "http://10.0.0.1:9736/server/30000/health"}
    assert jobs[Job.PROBE].labels == {**server, **target}
    assert jobs[Job.NODE].address == "10.0.0.1:9100"


def test_https_ipv6_and_dcgm(tmp_path: Path) -> None:
    jobs = _by_job(_found(tmp_path)["six"])
    assert [jobs[job].labels["__scheme__"] for job in (Job.EXPORTER, Job.SGLANG, Job.NODE, Job.DCGM)] == [*["https"] * 3, "http"]
    assert jobs[Job.DCGM].address == "[fd00::6]:9400"
    assert jobs[Job.PROBE].labels["__param_target"] == "https://[fd00::6]:9736/server/30000/health"


def test_a_server_that_listens_wider_is_asked_itself(tmp_path: Path) -> None:
    found = _found(tmp_path)
    wide, one = _by_job(found["wide"]), _by_job(found["one_address"])
    assert (wide[Job.SGLANG].address, wide[Job.SGLANG].labels["__metrics_path__"]) == ("10.0.0.2:31000", "/metrics")
    assert wide[Job.PROBE].labels["__param_target"] == "http://10.0.0.2:31000/health"
    assert one[Job.SGLANG].address == "192.0.2.9:30000"
    assert [jobs[Job.SGLANG].labels.get("__meta_ddtree_direct") for jobs in (wide, _by_job(found["plain"]))] == ["true", None]


def test_a_host_that_the_controller_reads(tmp_path: Path) -> None:
    jobs = _by_job(_found(tmp_path)["far"])
    assert set(jobs) == {Job.EXPORTER, Job.SGLANG, Job.PROBE}
    exporter, server = jobs[Job.EXPORTER], jobs[Job.SGLANG]
    assert (exporter.address, exporter.labels["__metrics_path__"], exporter.labels["__param_host"]) == (
        "ops:9736",
        "/probe",
        "far",
    )
    assert (server.address, server.labels["__metrics_path__"]) == ("ops:9736", "/hosts/far/server/30000/metrics")
    assert jobs[Job.PROBE].labels["__param_target"] == "http://ops:9736/hosts/far/server/30000/health"


def test_other_hosts_have_what_they_run(tmp_path: Path) -> None:
    found = _found(tmp_path)
    assert [target.job for target in found["watcher"].targets] == [Job.NODE]
    assert [(target.job, target.address) for target in found["router"].targets] == [(Job.ROUTER, "router:29000")]
    assert "database" not in found


def test_a_broken_host_is_told_and_hides_only_what_can_not_be_known(tmp_path: Path) -> None:
    found = _found(tmp_path)
    serving = {Job.EXPORTER, Job.SGLANG, Job.PROBE, Job.NODE}
    left = {
        "no_hardware": (serving, "hosts.yml:12: ddtree_hardware: expected one of"),
        "no_port": ({Job.EXPORTER, Job.NODE}, "hosts.yml:13: ddtree_serving.port: expected a whole number from 1024"),
        "no_settings": (set(), "hosts.yml:14: ddtree_monitoring.mode: expected on_host or controller"),
        "no_address": (set(), "hosts.yml:15: no_address: its address for SSH is none that Prometheus could ask"),
    }
    for host, (jobs, problem) in left.items():
        assert {target.job for target in found[host].targets} == jobs
        assert len(found[host].problems) == 1
        assert problem in found[host].problems[0]
    assert "hardware" not in found["no_hardware"].targets[0].labels
    assert [host for host, one in found.items() if one.problems] == list(left)


def test_names_of_hosts_can_not_change_a_url(tmp_path: Path) -> None:
    text = "all: {hosts: {'a&b=1#ü': {ddtree_serving: {}, ddtree_monitoring: {mode: controller}}}}\n"
    (tmp_path / "hosts.yml").write_text(text)
    target = _by_job(scrape_targets(load_fleet(tmp_path))[0])[Job.PROBE].labels["__param_target"]
    assert target == "http://127.0.0.1:9736/hosts/a%26b%3D1%23%C3%BC/server/30000/health"


def test_the_state_of_an_inventory_moves_with_every_file_and_not_without(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.yml"
    hosts.write_text("all: {}\n")
    states = [inventory_state(tmp_path)]

    def moved() -> bool:
        states.append(inventory_state(tmp_path))
        return states[-1] != states[-2]

    assert not moved()
    (tmp_path / "group_vars").mkdir()
    assert moved()
    (tmp_path / "group_vars" / "all.yml").write_text("a: 1\n")
    assert moved()
    (tmp_path / "group_vars" / "all.yml").write_text("a: 22\n")
    assert moved()
    hosts.rename(tmp_path / "other.yml")
    assert moved()
    assert not moved()


@pytest.mark.parametrize("name", ["hosts.yml", "host_vars"])
def test_what_becomes_readable_is_a_change_with_the_same_words_and_times(tmp_path: Path, name: str) -> None:
    (tmp_path / "hosts.yml").write_text("all: {}\n")
    (tmp_path / "host_vars").mkdir()
    path = tmp_path / name
    path.chmod(0)
    before, times = inventory_state(tmp_path), path.stat()
    path.chmod(0o755)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert inventory_state(tmp_path) != before


def test_a_single_file_has_its_variables_beside_it_and_a_loop_ends(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.yml"
    hosts.write_text("all: {}\n")
    before = inventory_state(hosts)
    (tmp_path / "host_vars").mkdir()
    assert inventory_state(hosts) != before
    (tmp_path / "host_vars" / "loop").symlink_to(tmp_path / "host_vars")
    assert len(inventory_state(hosts)) < 50
    assert inventory_state(tmp_path / "gone" / "hosts.yml") == ()
