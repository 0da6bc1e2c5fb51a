"""The whole chain of monitoring: playbook, exporter, Prometheus, rules, Alertmanager; faults, and the one alert of each.

The tests build on each other in file order. Durations of the rules are shortened (`monitored.faster`), nothing else is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from tests.hosts.lab import Lab, wait_for
from tests.hosts.monitored import SLACK, Monitored, Pace, monitored

GPU, WATCH = "gpu", "watch"
# The least time of a load that is too slow or stands still is 30 seconds then: twenty times the usual one.
PACE = Pace(faster=10, interval=3)
TRIAGE = f"ddtree-ops triage --host {GPU} --since -2h"
CRASH_SHOWN = PACE.seconds(900)  # as long as ServerCrashed is told of a failure


@pytest.fixture(scope="module")
def chain(empty_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    empty_lab.up(GPU, WATCH)
    chain = monitored(empty_lab, tmp_path_factory.mktemp("monitoring"), GPU, WATCH, PACE)
    with chain.tool.start("deploy", "--host", GPU, "--yes") as deploying:
        played = chain.play()
        deployed = deploying.end()
    assert deployed.code == 0, deployed.stderr
    assert played.returncode == 0, played.stdout
    yield chain
    empty_lab.stop(GPU)
    empty_lab.stop(WATCH)


def ready(chain: Monitored) -> bool:
    return [one["value"][1] for one in chain.query("ddtree_ops_server_ready")] == ["1"]


def test_all_is_scraped_and_nothing_is_alerted(chain: Monitored) -> None:
    wait_for("a server that is ready", lambda: ready(chain), SLACK)
    wait_for("all targets up", lambda: not chain.query("up == 0") and len(chain.query("up")) == 6, SLACK)
    assert chain.query('sglang_num_running_reqs{host="gpu"}'), "SGLang's names have no colon here"
    wait_for("a probe", lambda: chain.query("probe_success == 1"), SLACK)
    assert chain.told() == set()


def test_a_second_run_changes_nothing_and_neither_does_check_mode(chain: Monitored) -> None:
    again = chain.play("--check", "--diff")
    assert again.returncode == 0, again.stdout
    assert re.findall(r"changed=(\d+)", again.stdout) == ["0", "0"]


def test_a_wrong_web_configuration_is_refused_by_check_mode_too(chain: Monitored) -> None:
    wrong = json.dumps({"monitoring_web_config": "basic_auth_users: {prometheus: open-sesame}"})
    for flags in (("--check",), ()):
        played = chain.play("--limit", GPU, "-e", wrong, *flags)
        assert played.returncode != 0
        assert "monitoring_web_config can't be used" in played.stdout
        assert "open-sesame" not in played.stdout
    chain.sh(GPU, "test ! -e /etc/ddtree-exporter.yml")


def test_a_wrong_variable_reaches_nothing(chain: Monitored) -> None:
    before = chain.sh(
        GPU, "systemctl show -p InvocationID ddtree-exporter prometheus-node-exporter; systemctl cat ddtree-exporter"
    )
    wrong = {"monitoring_listen": "300.1.2.3", "monitoring_retention": "forever", "monitoring_retentoin": "5d"}
    played = chain.play("--limit", GPU, "-e", json.dumps(wrong))
    assert played.returncode != 0
    assert all(name in played.stdout for name in wrong)
    assert "did you mean monitoring_retention?" in played.stdout
    played = chain.play("--limit", GPU, "-e", json.dumps({"monitoring_listen": "192.0.2.77"}))  # nobody's (RFC 5737)
    assert played.returncode != 0
    assert "nothing can listen on 192.0.2.77 here" in played.stdout
    after = chain.sh(
        GPU, "systemctl show -p InvocationID ddtree-exporter prometheus-node-exporter; systemctl cat ddtree-exporter"
    )
    assert after == before


def test_a_stopped_exporter(chain: Monitored) -> None:
    chain.sh(GPU, "systemctl stop ddtree-exporter")
    (alert,) = chain.expect("ExporterDown", within=PACE.seconds(120) + PACE.told)
    assert alert.labels["host"] == GPU
    chain.sh(GPU, "systemctl start ddtree-exporter")
    chain.gone("ExporterDown", within=SLACK)


def test_a_partition(chain: Monitored) -> None:
    chain.lab.cut(GPU)
    alerts = chain.expect("HostUnreachable", within=PACE.seconds(60) + PACE.told)
    assert {one.labels["host"] for one in alerts} == {GPU}
    chain.lab.heal(GPU)
    chain.gone("HostUnreachable", within=SLACK)


def test_a_load_that_stalls(chain: Monitored) -> None:
    """ServerNotReady goes by the load time; the stall silences it."""
    chain.restart(SIM_FAULT="hang:weights")
    alerts = chain.expect("ServerLoadStalled", within=PACE.seconds(300) + PACE.told, before=["ServerNotReady"])
    stalled = next(one for one in alerts if one.name == "ServerLoadStalled")
    assert stalled.notes["command"] == f"ddtree-ops logs --host {GPU} -n 200"
    chain.restart()
    chain.gone("ServerLoadStalled", "ServerNotReady", within=SLACK)


def test_the_storys_crash_and_a_killed_rank(chain: Monitored) -> None:
    """The first real request, which kills the server, is the launcher's own. Both crashes are told until both are old."""
    chain.restart(SIM_FAULT="graph_width:request")
    alerts = chain.expect("ServerCrashed", within=PACE.told)
    (crash,) = (one for one in alerts if one.name == "ServerCrashed")
    assert crash.notes["command"] == TRIAGE
    assert "graph" in crash.notes["cause"]
    assert crash.labels["kind"] in crash.notes["summary"]

    chain.restart()
    wait_for("a server that is ready again", lambda: ready(chain), SLACK)
    chain.sh(GPU, "kill -KILL $(pgrep -f '[s]glang::scheduler_TP3')")
    wait_for("a second crash", lambda: len([one for one in chain.active() if one.name == "ServerCrashed"]) == 2, SLACK)
    assert chain.told() == {"ServerCrashed"}
    killed = next(one for one in chain.active() if one.labels.get("fingerprint") not in (None, crash.labels["fingerprint"]))
    assert killed.labels["kind"] != crash.labels["kind"]
    assert killed.notes["command"] == TRIAGE
    chain.restart()
    chain.gone("ServerCrashed", within=CRASH_SHOWN + SLACK)


def test_a_service_that_fails_all_the_same_gets_back_what_it_ran_with(chain: Monitored) -> None:
    unit = chain.sh(GPU, "systemctl cat ddtree-exporter")
    chain.sh(GPU, "systemd-run --unit=foreign python3 -m http.server 9201")
    address = chain.lab.hosts()[GPU].address
    taken = json.dumps({"ddtree_monitoring": {"address": address, "exporter_port": 9201}})
    played = chain.play("--limit", GPU, "-e", taken)
    chain.sh(GPU, "systemctl stop foreign")
    assert played.returncode != 0
    assert "can't listen on [::]:9201" in played.stdout
    assert "The former arguments of ddtree-exporter are back, and running." in played.stdout
    assert chain.sh(GPU, "systemctl cat ddtree-exporter") == unit
