"""`doctor --metrics` over a host that answers: small classes in place of SSH."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.cli.checkup import Check
from ddtree_ops.cli.doctor_metrics import _on_host
from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.metric_names.needs import Need, Use
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.flows.server import Server
from ddtree_ops.ports import Command, Completed, HttpRequest, HttpResponse, Stream

INVENTORY = """
all:
  vars: {ddtree_hardware: b300-8x, ddtree_serving: {model: {path: /m}}, ddtree_monitoring: {exporter_port: 9999}}
  hosts: {h: {}}
"""
SGLANG = b'sglang:num_running_reqs{model_name="m"} 1\nsglang:num_requests_total 3\n'
EXPORTER = (
    b'ddtree_ops_build_info{version="1.2"} 1\nddtree_ops_collector_success{collector="unit"} 1\nddtree_ops_server_ready 1\n'
)
USES = tuple(Use("alert", name, "r.yml") for name in "ABCDE")
NEEDED = [
    *(Need("sglang_running", (), use) for use in USES),
    Need("sglang_num_running_reqs", (), USES[0]),
    Need("sglang_num_aborted_requests_total", (), USES[0]),
    Need("ddtree_ops_server_ready", (), USES[0]),
    Need("ddtree_ops_gpus_seen", (), USES[0]),
    Need("ddtree_ops_gpu_power_watts", (), USES[1]),
    Need("node_time_seconds", (), USES[0]),
]


@dataclass
class Host:
    """Pages by port and path; what `exporter --once` prints, if it is installed."""

    pages: Mapping[tuple[int, str], bytes]
    once: bytes | None = None
    host: str = "h"
    ran: list[tuple[str, ...]] = field(default_factory=list)

    def request(self, request: HttpRequest) -> HttpResponse:
        body = self.pages.get((request.port, request.path))
        return HttpResponse(0, b"", 0.0) if body is None else HttpResponse(200 if body else 401, body, 0.0)

    def run(self, command: Command) -> Completed:
        self.ran.append(command.argv)
        if command.argv[0] == "runuser" and self.once is None:
            raise HostCommandFailed("not there")
        output = self.once or b"" if command.argv[0] == "runuser" else b""
        return Completed(command, 0, output.decode(), "", 0.0)

    def stream(self, argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        raise AssertionError(argv)


def _checks(tmp_path: Path, pages: Mapping[tuple[int, str], bytes], **more: Any) -> list[Check]:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    host = load_fleet(tmp_path).host("h")
    there = Host(pages, **more)
    return list(_on_host(host, Server(there, there, SystemClock(), host.serving, 30000), NEEDED))


def test_what_is_missing_is_named_with_who_needs_it(tmp_path: Path) -> None:
    pages = {(30000, "/metrics"): SGLANG, (30000, "/server_info"): b'{"version": "0.5.9"}', (9999, "/metrics"): EXPORTER}
    checks = _checks(tmp_path, pages)
    assert [(one.what, one.ok) for one in checks] == [
        ("sglang metrics", False),
        ("sglang metrics", True),
        ("sglang metrics", False),
        ("exporter", False),
        ("exporter", False),
    ]
    assert checks[0].found == (
        "sglang_running: the server has no sglang_running; needed by alert 'A' (r.yml), alert 'B' (r.yml), alert 'C' (r.yml) "
        "and 2 more; near it: sglang_num_running_reqs"
    )
    assert checks[1].found.startswith("not now: sglang_num_aborted_requests_total: ")
    assert checks[2].found == "SGLang 0.5.9: 1 of 3 names are there, 1 missing"
    assert checks[3].found.startswith("ddtree_ops_gpu_power_watts, ddtree_ops_gpus_seen: the exporter has no collector 'gpus'")
    assert checks[4].found == "ddtree-ops 1.2: 1 of 3 names are there, 2 missing"


def test_a_server_that_loads_is_told_as_such(tmp_path: Path) -> None:
    server = _checks(tmp_path, {})[0]
    assert (server.ok, server.found) == (False, "/metrics on port 30000: nobody answers")
    assert "ddtree-ops status" in str(server.fix)


def test_an_exporter_with_a_password_is_asked_on_the_host(tmp_path: Path) -> None:
    pages = {(30000, "/metrics"): SGLANG, (9999, "/metrics"): b""}  # 401
    asked = _checks(tmp_path, pages, once=EXPORTER)
    assert asked[-1].found == "ddtree-ops 1.2: 1 of 3 names are there, 2 missing"
    refused = _checks(tmp_path, pages)
    assert refused[-1].found == "/metrics on port 9999: HTTP 401"
