"""`doctor --metrics` over a host that answers: small classes in place of SSH."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.cli.checkup import Check
from ddtree_ops.cli.doctor_metrics import _on_host
from ddtree_ops.cli.exporter_on_host import WITH_STATE
from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.metric_names.needs import Need, Use
from ddtree_ops.exporter.wiring import collectors, local_target
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
    unit: str = "LoadState=not-found\nActiveState=inactive\n"
    host: str = "h"
    ran: list[tuple[str, ...]] = field(default_factory=list)

    def request(self, request: HttpRequest) -> HttpResponse:
        body = self.pages.get((request.port, request.path))
        return HttpResponse(0, b"", 0.0) if body is None else HttpResponse(200 if body else 401, body, 0.0)

    def run(self, command: Command) -> Completed:
        self.ran.append(command.argv)
        if command.argv[:2] == ("systemctl", "show"):
            return Completed(command, 0, self.unit, "", 0.0)
        if "--once" in command.argv and self.once is None:
            raise HostCommandFailed("not there")
        output = self.once or b"" if "--once" in command.argv else b""
        return Completed(command, 0, output.decode(), "", 0.0)

    def stream(self, argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        raise AssertionError(argv)


def _checks(tmp_path: Path, pages: Mapping[tuple[int, str], bytes], needed: Sequence[Need] = NEEDED, **more: Any) -> list[Check]:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    host = load_fleet(tmp_path).host("h")
    there = Host(pages, **more)
    return list(_on_host(host, Server(there, there, SystemClock(), host.serving, 30000), needed))


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


def _unit(arguments: str, active: str = "active") -> str:
    argv = f"/opt/v/bin/python -P /opt/v/bin/ddtree-ops exporter {arguments}"
    start = f"{{ path=/opt/v/bin/python ; argv[]={argv} ; ignore_errors=no ; start_time=[n/a] ; pid=3 }}"
    return f"LoadState=loaded\nActiveState={active}\nExecStart={start}\n"


ASKS = _unit("--listen [::]:9999 --state /s --web-config /run/c/web-config")
CLOSED = {(30000, "/metrics"): SGLANG, (9999, "/metrics"): b""}  # 401


def test_a_password_that_we_lack_is_no_fault(tmp_path: Path) -> None:
    checks = _checks(tmp_path, CLOSED, once=EXPORTER, unit=ASKS)
    told = [one for one in checks if one.what == "exporter"]
    assert [one.ok for one in told] == [True, False, False]
    assert told[0].found.startswith("runs, but its page isn't read: it asks for TLS or a password; ")
    assert "has no collector 'gpus'" in told[1].found  # the version's own names are judged all the same
    assert told[2].found == "ddtree-ops 1.2, by --once: 1 of 3 names are there, 2 missing"


def test_a_port_of_tls_gives_plain_http_no_answer(tmp_path: Path) -> None:
    told = _checks(tmp_path, {(30000, "/metrics"): SGLANG}, once=EXPORTER, unit=ASKS)
    assert [one.found[:29] for one in told if one.ok][-1] == "runs, but its page isn't read"


def test_what_only_the_running_exporter_counts_is_not_missed_elsewhere(tmp_path: Path) -> None:
    once = EXPORTER + b'ddtree_ops_collector_success{collector="gpus"} 0\n'
    needed = (*NEEDED, Need("ddtree_ops_failures_total", (), USES[0]))
    told = [one for one in _checks(tmp_path, CLOSED, needed, once=once, unit=ASKS) if one.what == "exporter"]
    assert all(one.ok for one in told)
    later = " ".join(one.found for one in told if one.found.startswith("not now: "))
    assert "ddtree_ops_failures_total: `exporter --once` can't tell of collector 'journal'" in later
    assert "ddtree_ops_gpus_seen: `exporter --once` can't tell of collector 'gpus'" in later
    page = {**CLOSED, (9999, "/metrics"): once}
    assert sum(not one.ok for one in _checks(tmp_path, page, needed) if one.what == "exporter") == 3  # its own page is believed


def test_without_the_page_and_without_once_nothing_is_known(tmp_path: Path) -> None:
    told = _checks(tmp_path, CLOSED, unit=ASKS)[-1]
    assert told.ok
    assert told.found == "not known: it asks for TLS or a password, and `exporter --once` on the host failed: not there"


@pytest.mark.parametrize(
    ("unit", "words", "fix"),
    [
        ("LoadState=not-found\nActiveState=inactive\n", "nobody answers; there is no unit ddtree-exporter", "install it: "),
        (_unit("--listen 127.0.0.1:9999", "failed"), "nobody answers; its unit is failed", "journalctl -u ddtree-exporter"),
        (_unit("--listen 127.0.0.1:9736"), "it listens on port 9736, not on ddtree_monitoring.exporter_port", "monitoring.yml"),
        (_unit("--listen 127.0.0.1:9999"), "nobody answers; that isn't", "journalctl -u ddtree-exporter"),
    ],
)
def test_an_exporter_that_is_not_well_is_told_by_its_unit(tmp_path: Path, unit: str, words: str, fix: str) -> None:
    told = _checks(tmp_path, {(30000, "/metrics"): SGLANG}, once=EXPORTER, unit=unit)[-1]
    assert not told.ok
    assert words in told.found
    assert fix in str(told.fix)


def test_one_that_listens_elsewhere_is_well(tmp_path: Path) -> None:
    told = _checks(tmp_path, {(30000, "/metrics"): SGLANG}, unit=_unit("--listen 192.0.2.7:9999"))[-1]
    assert told.ok
    assert "it listens on 192.0.2.7 alone" in told.found


def test_collectors_that_need_a_state_are_those_named(tmp_path: Path) -> None:
    names = [{one.name for one in collectors(local_target(), state)} for state in (None, tmp_path)]
    assert names[1] - names[0] == WITH_STATE


def test_once_runs_in_a_directory_that_its_user_may_enter(tmp_path: Path) -> None:
    (tmp_path / "hosts.yml").write_text(INVENTORY)
    host = load_fleet(tmp_path).host("h")
    there = Host(CLOSED, once=EXPORTER, unit=ASKS)
    list(_on_host(host, Server(there, there, SystemClock(), host.serving, 30000), NEEDED))
    assert [one[4:6] for one in there.ran if "--once" in one] == [("env", "--chdir=/")]
