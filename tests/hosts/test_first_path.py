"""The main job on real hosts, as a user runs it: the real command, the real Ansible, systemd, journald and sshd.

The tests build on each other in file order (a deploy takes seconds, a fresh host each time would take minutes); each
says in its first lines what it expects to find.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hosts.conftest import Ran, Tool
from tests.hosts.lab import Lab

UNIT = "ddtree-server@30000.service"


def set_serving(inventory: Path, host: str, **sections: Any) -> None:
    """Write host_vars/<host>.yml; sections are laid over what the lab's groups say."""
    (inventory / "host_vars" / f"{host}.yml").write_text(yaml.safe_dump({"ddtree_serving": sections}))


def quick(**environment: str) -> dict[str, str]:
    """Environment of a simulator that loads in 1.5 s and crashes without its 5 s of settling."""
    return {"SIM_LOAD_SECONDS": "1.5", "SIM_CRASH_SETTLE_SECONDS": "0", **environment}


@pytest.fixture
def ct200(lab_inventory: Path) -> Path:
    set_serving(lab_inventory, "ct200", environment=quick())
    return lab_inventory


def deployment(ran: Ran) -> Any:
    """The only host's report."""
    (report,) = ran.document["hosts"]
    return report


def current(lab: Lab, host: str) -> str:
    return lab.sh(host, "readlink", "/opt/ddtree/current").strip()


def test_a_missing_server_is_said_clearly(lab: Lab, tool: Tool, ct200: Path) -> None:
    assert tool("smoke", "--host", "ct200").code == 4
    for command in ("wait", "start", "stop", "restart"):
        ran = tool(command, "--host", "ct200")
        assert ran.code == 1
        assert "ddtree-ops deploy --host ct200" in ran.stderr
    assert tool("rollback", "--host", "ct200").code == 2
    assert tool("status", "--host", "ct200").code == 1


def test_plan_changes_nothing_and_says_what_is_pending(lab: Lab, tool: Tool, ct200: Path) -> None:
    ran = tool("plan", "--host", "ct200", "--format", "json")
    assert ran.code == 6
    assert [change["what"] for change in ran.document["hosts"][0]["changes"]] == ["release", "server"]
    assert tool("deploy", "--host", "ct200", "--dry-run", "--format", "json").code == 6
    assert lab.ssh("ct200", "test -e /opt/ddtree").returncode == 1


def test_first_deploy(lab: Lab, tool: Tool, ct200: Path) -> None:
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (0, "deployed")
    assert [step["name"] for step in report["steps"]] == [
        "look", "plan", "lock", "look again", "plan", "stage", "validate", "arm", "switch", "restart",
        "wait", "smoke", "gate", "commit",
    ]  # fmt: skip
    assert current(lab, "ct200") == f"releases/{report['release']}"
    assert lab.sh("ct200", "systemctl", "is-enabled", UNIT).strip() == "enabled"
    audit = [json.loads(line) for line in lab.sh("ct200", "cat", "/var/lib/ddtree/audit.jsonl").splitlines()]
    assert [line["event"] for line in audit[-3:]] == ["begun", "commit", "deploy"]
    assert audit[-1]["release"] == report["release"]
    assert lab.ssh("ct200", "test -e /var/lib/ddtree/deadman.json").returncode == 1, "it was disarmed"


def test_the_release_is_immutable_for_the_service_and_each_rank_keeps_its_own_pid(lab: Lab, tool: Tool) -> None:
    writable = "find /opt/ddtree -writable -not -type l -print -quit"
    assert lab.ssh("ct200", f"runuser -u ddtree -- {writable}").stdout == ""
    script = f"journalctl -u {UNIT} -o json --output-fields=_PID,MESSAGE -g 'Load weight begin' | grep -o '\"_PID\":\"[0-9]*\"'"
    assert len(set(lab.ssh("ct200", script).stdout.split())) == 8


def test_what_serves(lab: Lab, tool: Tool, ct200: Path) -> None:
    status = tool("status", "--host", "ct200", "--format", "json")
    assert status.code == 0
    (row,) = status.document["hosts"]
    assert row["serving"]
    assert row["health"] == 200
    assert row["release"] == row["last_good"]
    assert row["boots"][-1]["outcome"] == "ready"
    smoke = tool("smoke", "--host", "ct200", "--format", "json")
    assert smoke.code == 0
    assert "Paris" in smoke.document["results"][0]["text"]
    assert tool("wait", "--host", "ct200").code == 0
    assert "fired up" in tool("logs", "--host", "ct200", "-n", "500").stdout


def test_what_an_argument_is_there_and_where_it_goes(lab: Lab, tool: Tool, ct200: Path) -> None:
    """The release's own source, asked twice: the second time no content travels."""
    explained = tool("params", "explain", "mem-fraction-static", "--host", "ct200", "--format", "json")
    assert explained.code == 0
    assert explained.document["requested"] == {"value": "0.8", "origin": "the hardware profile"}
    assert explained.document["resolved"] == {"value": "0.8", "origin": "server_info"}
    assert any("self.mem_fraction_static =" in write["code"] for write in explained.document["writes"])
    traced = tool("params", "trace", "speculative_num_draft_tokens", "--host", "ct200", "--format", "json")
    assert traced.document["root"] == f"ct200:/opt/ddtree/{current(lab, 'ct200')}"
    assert {place["kind"] for place in traced.document["definitions"]} == {"field"}
    assert tool("params", "diff", "ct200", "ct200:planned", "--host", "ct200").code == 0
    set_serving(ct200, "ct200", environment=quick(), server_args={"watchdog-timeout": 900})
    assert tool("params", "diff", "ct200", "ct200:planned").code == 0, "planned and not staged: the same lock and wheels"
    assert "no release lab-none" in tool("params", "list", "--host", "ct200", "--release", "lab-none").stderr


def test_the_same_again_is_nothing_to_do(lab: Lab, tool: Tool, ct200: Path) -> None:
    before = lab.sh("ct200", "systemctl", "show", UNIT, "--property=InvocationID")
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    assert (ran.code, deployment(ran)["outcome"]) == (0, "nothing_to_do")
    assert tool("plan", "--host", "ct200").code == 0
    assert lab.sh("ct200", "systemctl", "show", UNIT, "--property=InvocationID") == before


def test_a_changed_argument_is_a_new_release_beside_the_old_one(lab: Lab, tool: Tool, ct200: Path) -> None:
    former = current(lab, "ct200")
    set_serving(ct200, "ct200", environment=quick(), server_args={"max-running-requests": 4})
    plan = tool("plan", "--host", "ct200")
    assert "--max-running-requests" in plan.stdout
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    assert (ran.code, deployment(ran)["outcome"]) == (0, "deployed")
    assert current(lab, "ct200") != former
    releases = tool("releases", "--host", "ct200", "--format", "json").document["hosts"][0]["releases"]
    assert [one["current"] for one in releases] == [True, False]


def test_the_storys_crash_is_explained_and_the_former_release_serves_again(lab: Lab, tool: Tool, ct200: Path) -> None:
    former = current(lab, "ct200")
    story = {"budget": 32, "budget_schedule": {1: 32}}
    # all eight ranks get to say their traceback before the simulator kills them, as SGLang's 5 s of settling let them
    slowly = quick(SIM_FAULT="graph_width:request", SIM_CRASH_SETTLE_SECONDS="5")
    set_serving(ct200, "ct200", environment=slowly, ddtree=story)
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (8, "rolled_back")
    assert f"releases/{report['serving']}" == current(lab, "ct200") == former
    root = report["failure"]["failures"][0]
    assert (root["kind"], root["role"], root["count"]) == ("graph_token_count_mismatch", "root", 8)
    assert root["exceptions"][-1]["frames"][-1]["function"] == "_foreach_copy"
    expressions = {(number["value"], number["expression"]) for number in root["numbers"]}
    assert any(value == 33 and "budget + 1" in text for value, text in expressions)
    assert any(value == 8 and "block_size" in text for value, text in expressions)
    assert tool("smoke", "--host", "ct200").code == 0
    assert [step["state"] for step in report["steps"] if step["name"] == "wait"] == ["failed"]


def test_a_load_in_which_nothing_moves_is_a_stall(lab: Lab, tool: Tool, ct200: Path) -> None:
    former = current(lab, "ct200")
    set_serving(ct200, "ct200", environment=quick(SIM_FAULT="hang:weights"), stall_after="4s")
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (8, "rolled_back")
    assert "stalled" in report["error"]
    assert lab.ssh("ct200", "tail -n 2 /var/lib/ddtree/boots/30000.jsonl | grep -c stalled").stdout.strip() == "1"
    assert current(lab, "ct200") == former


def test_a_load_that_takes_too_long_is_ended_by_its_budget(lab: Lab, tool: Tool, ct200: Path) -> None:
    set_serving(ct200, "ct200", environment=quick(SIM_LOAD_SECONDS="600"), load_budget="6s", stall_after="5s")
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (8, "rolled_back")
    wait = next(step for step in report["steps"] if step["name"] == "wait")
    assert wait["seconds"] < 120


def test_wrong_answers_do_not_pass_the_smoke_test(lab: Lab, tool: Tool, ct200: Path) -> None:
    former = current(lab, "ct200")
    set_serving(ct200, "ct200", environment=quick(SIM_FAULT="wrong_answers"))
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (8, "rolled_back")
    assert "garbage" in report["error"]
    assert current(lab, "ct200") == former


def test_arguments_that_sglang_refuses_never_reach_the_switch(lab: Lab, tool: Tool, ct200: Path) -> None:
    before = lab.sh("ct200", "systemctl", "show", UNIT, "--property=InvocationID")
    set_serving(ct200, "ct200", environment=quick(), server_args={"no-such-argument": 1})
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (7, "refused")
    assert "no-such-argument" in report["error"]
    assert lab.sh("ct200", "systemctl", "show", UNIT, "--property=InvocationID") == before


def test_rollback_to_the_first_release_and_back(lab: Lab, tool: Tool, ct200: Path) -> None:
    set_serving(ct200, "ct200", environment=quick())
    releases = tool("releases", "--host", "ct200", "--format", "json").document["hosts"][0]["releases"]
    first = releases[-1]["id"]
    ran = tool("rollback", "--host", "ct200", "--to", first, "--format", "json")
    assert (ran.code, deployment(ran)["serving"]) == (0, first)
    assert current(lab, "ct200") == f"releases/{first}"
    assert tool("rollback", "--host", "ct200", "--to", "nothing-like-it").code == 2


def test_stop_start_restart(lab: Lab, tool: Tool, ct200: Path) -> None:
    assert tool("stop", "--host", "ct200").code == 0
    shown = lab.sh("ct200", "systemctl", "show", UNIT, "--property=ActiveState,Result")
    assert set(shown.split()) == {"ActiveState=inactive", "Result=success"}
    assert tool("start", "--host", "ct200").code == 0
    before = lab.sh("ct200", "systemctl", "show", UNIT, "--property=MainPID")
    assert tool("restart", "--host", "ct200", "--format", "json").document["verdict"] == "ready"
    assert lab.sh("ct200", "systemctl", "show", UNIT, "--property=MainPID") != before


def test_a_cut_network_during_a_load_is_survived(lab: Lab, tool: Tool, ct200: Path) -> None:
    with tool.start("restart", "--host", "ct200", "--format", "json") as restarting:
        restarting.until("elapsed")
        lab.cut("ct200")
        time.sleep(4)  # the outage itself: longer than the load
        lab.heal("ct200")
        ran = restarting.end()
    assert (ran.code, ran.document["verdict"]) == (0, "ready")


def test_a_controller_killed_after_the_switch_is_taken_up_by_the_same_deploy(lab: Lab, tool: Tool, ct200: Path) -> None:
    former = current(lab, "ct200")
    set_serving(ct200, "ct200", environment=quick(), server_args={"max-running-requests": 3})
    with tool.start("deploy", "--host", "ct200") as deploying:
        deploying.until("elapsed")
        deploying.process.kill()
    assert current(lab, "ct200") != former
    ran = tool("deploy", "--host", "ct200", "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (0, "deployed")
    assert "stage" not in [step["name"] for step in report["steps"]]
    assert tool("plan", "--host", "ct200").code == 0


def test_a_mistake_in_the_inventory_touches_no_host(lab: Lab, tool: Tool, ct200: Path) -> None:
    path = ct200 / "host_vars" / "ct200.yml"
    path.write_text("ddtree_serving:\n  ddtree:\n    budgt: 31\n")
    ran = tool("deploy", "--host", "ct200")
    assert ran.code == 2
    assert f"{path}:3" in ran.stderr
    assert "did you mean" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_wrong_gpu_count_is_refused_before_anything_changes(lab: Lab, tool: Tool, ct200: Path) -> None:
    lab.gpu_state("ct200", {"gpus": {"3": {"state": "missing"}}})
    set_serving(ct200, "ct200", environment=quick(), server_args={"max-running-requests": 2})
    try:
        ran = tool("deploy", "--host", "ct200")
    finally:
        lab.gpu_state("ct200", None)
    assert ran.code == 7
    assert "GPU" in ran.stdout


def test_an_unreachable_host_and_a_good_one_together(lab: Lab, tool: Tool, ct200: Path) -> None:
    lab.stop("b300")
    try:
        ran = tool("deploy", "--host", "b300", "--host", "ct200", "--format", "json")
    finally:
        lab.start("b300")
    outcomes = {report["host"]: report["outcome"] for report in ran.document["hosts"]}
    assert outcomes["b300"] == "failed"
    assert outcomes["ct200"] in ("deployed", "nothing_to_do")
    assert ran.code == 3


def test_a_changed_host_key_is_refused(lab: Lab, tool: Tool, ct200: Path, tmp_path: Path) -> None:
    known = (lab.state / "known_hosts").read_text().splitlines()
    keys = [line.split(" ", 1)[1] for line in known]
    swapped = [f"{line.split(' ', 1)[0]} {key}" for line, key in zip(known, reversed(keys), strict=True)]
    (tmp_path / "known_hosts").write_text("\n".join(swapped) + "\n")
    config = (lab.ssh_config).read_text().replace(str(lab.state / "known_hosts"), str(tmp_path / "known_hosts"))
    (tmp_path / "ssh_config").write_text(config)
    for path in ct200.rglob("*.yml"):
        path.write_text(path.read_text().replace(str(lab.ssh_config), str(tmp_path / "ssh_config")))
    ran = tool("status", "--host", "ct200")
    assert ran.code == 3
    assert "another host key" in ran.stdout + ran.stderr
    (tmp_path / "known_hosts").write_text("")
    assert "not known" in tool("plan", "--host", "ct200").stdout


def test_doctor(lab: Lab, tool: Tool, ct200: Path) -> None:
    ran = tool("doctor", "--host", "ct200", "--format", "json")
    assert ran.code == 0, [check for check in ran.document["checks"] if not check["ok"]]
