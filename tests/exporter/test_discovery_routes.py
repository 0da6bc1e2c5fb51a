"""Discovery over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddtree_ops.exporter.collectors.discovery import DiscoveryCollector
from ddtree_ops.exporter.discovery.routes import STALE, routes
from ddtree_ops.exporter.discovery.targets import Discovery
from ddtree_ops.exporter.web.messages import Request, Response
from ddtree_ops.exporter.web.routes import Routes

GOOD = "gpus: {hosts: {a: {ddtree_hardware: b300-8x, ddtree_serving: {model: {path: /m}}}, b: {ddtree_serving: {port: 1}}}}\n"


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    path = tmp_path / "hosts.yml"
    path.write_text(GOOD)
    return path


def _get(discovery: Discovery, path: str) -> Response:
    route, params = Routes(*routes(discovery)).find(path)
    return route.handler(Request(path, params=params))


def _body(response: Response) -> bytes:
    assert isinstance(response.body, bytes)
    return response.body


def test_a_job_and_all_jobs(inventory: Path) -> None:
    discovery = Discovery(inventory)
    one = _get(discovery, "/sd/sglang")
    assert (one.status, one.content_type, one.headers) == (200, "application/json", {})
    assert [group["targets"] for group in json.loads(_body(one))] == [["a:9736"]]
    jobs = [group["labels"]["__meta_ddtree_job"] for group in json.loads(_body(_get(discovery, "/sd")))]
    assert sorted(set(jobs)) == ["ddtree-exporter", "ddtree-probe", "node", "sglang"]
    assert _get(discovery, "/sd/nothing").status == 404


def test_a_broken_edit_is_told_beside_the_last_good_answer(inventory: Path) -> None:
    discovery = Discovery(inventory, lambda: 100.4)
    good = _get(discovery, "/sd/sglang")
    inventory.write_text("gpus: [")
    DiscoveryCollector(discovery).read()  # which follows the inventory
    now = _get(discovery, "/sd/sglang")
    assert (now.status, now.body, now.headers) == (200, good.body, {STALE: "100"})
    about = json.loads(_body(_get(discovery, "/api/sd")))
    assert about["problem"].startswith(f"{inventory}:2: is not valid YAML")
    assert about["jobs"]["sglang"] == 1


def test_without_anything_good_the_answer_is_no_list_at_all(inventory: Path) -> None:
    inventory.write_text("[")
    assert _get(Discovery(inventory), "/sd/sglang").status == 503


def test_broken_hosts_are_listed_with_the_reason(inventory: Path) -> None:
    broken = json.loads(_body(_get(Discovery(inventory), "/api/sd")))["broken"]
    assert [one["host"] for one in broken] == ["b"]
    assert "ddtree_serving.port: expected a whole number from 1024 to 55535" in broken[0]["problems"][0]
