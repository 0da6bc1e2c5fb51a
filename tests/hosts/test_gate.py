"""The acceptance gate on a real host: what a deploy keeps, what goes back, what `smoke --gate` says of what serves.

The tests build on each other in file order: the first one leaves a good release, the second one a baseline.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.conftest import Ran, Tool
from tests.hosts.lab import Lab, wait_for
from tests.hosts.test_first_path import current, deployment, quick, set_serving

HOST = "b300"
TRAFFIC = """
import json, pathlib, urllib.request
traffic = pathlib.Path("/run/traffic")
count = 0
while count == 0 or traffic.exists():
    body = {"text": f"Another client {count}", "sampling_params": {"max_new_tokens": 100, "ignore_eos": True}}
    request = urllib.request.Request("http://127.0.0.1:30000/generate", json.dumps(body).encode())
    urllib.request.urlopen(request, timeout=30).read()
    count += 1
    if count == 1:
        traffic.touch()
print(count)
"""


def figures(ran: Ran) -> Any:
    """Those of the step `gate`."""
    return next(step for step in deployment(ran)["steps"] if step["name"] == "gate")["figures"]


def checks(document: Any) -> dict[str, str]:
    return {one["check"]: one["verdict"] for one in document["checks"]}


@pytest.fixture
def host(lab_inventory: Path) -> Path:
    set_serving(lab_inventory, HOST, environment=quick())
    return lab_inventory


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate") / "baseline.json"


@contextmanager
def fault(lab: Lab, tool: Tool, name: str) -> Iterator[None]:
    """The same release, started anew with a fault."""
    try:
        lab.simulator(HOST, SIM_FAULT=name)
        assert tool("restart", "--host", HOST).code == 0
        yield
    finally:
        lab.simulator(HOST)


def test_a_good_release_is_proven_and_kept(lab: Lab, tool: Tool, host: Path) -> None:
    ran = tool("deploy", "--host", HOST, "--full", "--format", "json")
    assert (ran.code, deployment(ran)["outcome"]) == (0, "deployed")
    found = figures(ran)
    assert set(checks(found).values()) == {"passed"}
    assert found["acceptance_length"] > 2
    assert (found["least_acceptance_length"], found["prompts_compared"]) == (1.2, None)
    assert "acceptance length" in ran.stderr


def test_a_baseline_is_recorded_and_found_equal(lab: Lab, tool: Tool, host: Path, baseline: Path) -> None:
    ran = tool("smoke", "--host", HOST, "--record-gate", str(baseline), "--format", "json")
    assert (ran.code, ran.document["prompts"], ran.document["not_steady"]) == (0, 16, 0)
    assert ran.document["algorithm"] == "DDTREE"
    set_serving(host, HOST, environment=quick(), gate={"baseline": str(baseline)})
    judged = tool("smoke", "--host", HOST, "--gate", "--format", "json")
    assert (judged.code, judged.document["prompts_equal"], judged.document["prompts_compared"]) == (0, 16, 16)


def test_other_answers_go_back_to_the_former_release(lab: Lab, tool: Tool, host: Path, baseline: Path) -> None:
    before = current(lab, HOST)
    set_serving(host, HOST, environment=quick(SIM_FAULT="other_answers"), gate={"baseline": str(baseline)})
    ran = tool("deploy", "--host", HOST, "--format", "json")
    report = deployment(ran)
    assert (ran.code, report["outcome"]) == (8, "rolled_back")
    assert "0 of 16 answers are the recorded ones" in report["error"]
    assert len(report["evidence"]) == 16
    assert (figures(ran)["verdict"], figures(ran)["prompts_equal"]) == ("refused", 0)
    assert current(lab, HOST) == before
    assert tool("smoke", "--host", HOST).code == 0


def test_a_server_that_dies_on_a_prompt_is_diagnosed_and_goes_back(lab: Lab, tool: Tool, host: Path) -> None:
    before = current(lab, HOST)
    set_serving(host, HOST, environment=quick(SIM_FAULT="crash:serving:10"), gate={"inconclusive": "warn"})
    ran = tool("deploy", "--host", HOST, "--format", "json")
    report = deployment(ran)
    assert ran.code == 8
    assert [step["name"] for step in report["steps"] if step["state"] == "failed"] == ["gate"]
    assert "simulated failure in phase serving" in str(report["failure"])
    assert current(lab, HOST) == before


@pytest.mark.parametrize(
    ("name", "code", "check", "words"),
    [
        ("wrong_algorithm", 7, "algorithm", "speculates by DFLASH"),
        ("counters_stuck", 7, "counters", "stood still"),
        ("low_acceptance", 7, "acceptance", "acceptance length 1.00 is below 1.20"),
        ("no_metrics", 10, "counters", "HTTP 404"),
    ],
)
def test_faults_that_no_smoke_question_shows(
    lab: Lab, tool: Tool, host: Path, name: str, code: int, check: str, words: str
) -> None:
    with fault(lab, tool, name):
        assert tool("smoke", "--host", HOST).code == 0
        ran = tool("smoke", "--host", HOST, "--gate", "--format", "json")
        text = tool("smoke", "--host", HOST, "--gate")
    assert ran.code == text.code == code
    assert checks(ran.document)[check] == ("refused" if code == 7 else "inconclusive")
    assert words in text.stdout


def test_what_can_not_be_judged_is_kept_only_if_the_spec_says_so(lab: Lab, tool: Tool, host: Path) -> None:
    set_serving(host, HOST, environment=quick(SIM_FAULT="no_metrics"), gate={"inconclusive": "warn"})
    ran = tool("deploy", "--host", HOST, "--format", "json")
    assert (ran.code, deployment(ran)["outcome"], figures(ran)["verdict"]) == (0, "deployed", "inconclusive")
    assert "kept: gate.inconclusive is warn" in ran.stderr
    set_serving(host, HOST, environment=quick())
    assert tool("deploy", "--host", HOST, "--format", "json").code == 0


def test_other_clients_are_noticed_and_do_not_mislead(lab: Lab, tool: Tool, host: Path) -> None:
    alone = tool("smoke", "--host", HOST, "--gate", "--format", "json").document
    said: list[str] = []
    client = threading.Thread(target=lambda: said.append(lab.sh(HOST, "python3", "-c", TRAFFIC)))
    client.start()
    wait_for("its first answer", lambda: lab.ssh(HOST, "test -e /run/traffic").returncode == 0, 60)
    ran = tool("smoke", "--host", HOST, "--gate", "--format", "json")
    lab.sh(HOST, "rm", "/run/traffic")
    client.join()
    assert int(said[0]) > 3
    assert ran.code == 0
    assert "other clients had" in next(one["text"] for one in ran.document["checks"] if one["check"] == "counters")
    assert ran.document["acceptance_length"] == pytest.approx(alone["acceptance_length"], abs=0.01)


def test_without_a_tree_there_is_no_gate(lab: Lab, tool: Tool, host: Path) -> None:
    defaults = host / "group_vars" / "all" / "serving.yml"
    lines = defaults.read_text().splitlines(keepends=True)
    start = lines.index("  ddtree:\n")
    defaults.write_text("".join(line for number, line in enumerate(lines) if not start <= number <= start + 4))
    assert "ddtree:\n" not in defaults.read_text()
    ran = tool("smoke", "--host", HOST, "--gate", "--format", "json")
    assert (ran.code, ran.document["verdict"]) == (0, "skipped")
    assert "no ddtree section" in ran.document["checks"][0]["text"]


def test_a_missing_baseline_shows_before_anything_is_changed(tool: Tool, host: Path) -> None:
    set_serving(host, HOST, environment=quick(SIM_TOKENS_PER_SECOND="500"), gate={"baseline": "/nowhere/baseline.json"})
    ran = tool("deploy", "--host", HOST)
    assert ran.code == 2
    assert "gate.baseline: /nowhere/baseline.json: can't be read: No such file" in ran.stderr
