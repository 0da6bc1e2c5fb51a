"""The programs of the roles as commands over SSH, and their answers as findings."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ddtree_ops.fleet import places, preflight
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.plan import make_plan
from ddtree_ops.fleet.preflight import Finding, Severity
from ddtree_ops.fleet.release import LocalWheel, ReleaseInputs, build
from ddtree_ops.fleet.sections import RuntimeSpec
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.fleet.state import HostState
from ddtree_ops.ports import Command, Completed
from ddtree_ops.units.systemctl import parse_show

PROJECT = Path(__file__).resolve().parents[2]
SPEC = {"model": {"path": "/srv/m"}, "draft_model": {"path": "/srv/d"}, "runtime": {"python": "/usr/bin/python3", "free_mib": 7}}
RELEASE = build(
    ServingSpec.model_validate(SPEC), profile("b300-8x"), ReleaseInputs("lab", "x", "[Unit]", (LocalWheel("/w/p.whl", "0"),))
)


def test_the_program_gets_what_the_release_wants() -> None:
    command = preflight.look_at_host(RELEASE, now=5.0)
    assert command.argv[:2] == ("python3", "-c")
    assert command.argv[2] == (PROJECT / "roles" / "preflight" / "files" / "preflight.py").read_text()
    assert len(command.argv[2]) < 100_000
    wanted = json.loads(command.argv[3])
    assert wanted["gpus"] == RELEASE.role_variables()["preflight_gpus"]
    assert wanted["gpus"]["names"] == ["NVIDIA B300 SXM6 AC"]
    assert (wanted["python"], wanted["port"], wanted["free_mib"], wanted["now"]) == ("/usr/bin/python3", 30000, 7, 5.0)
    assert RELEASE.role_variables()["preflight_free_mib"] == 7


@pytest.mark.parametrize("command", [preflight.look_at_host(RELEASE, 0.0), preflight.look_at_models(RELEASE)])
def test_the_programs_run_as_one_argument(command: Command) -> None:
    done = subprocess.run((sys.executable, *command.argv[1:]), capture_output=True, text=True, check=True, timeout=30)
    findings = preflight.parse(Completed(command, done.returncode, done.stdout, done.stderr, 0.0))
    assert findings, "this machine is no B300 with models"
    assert "preflight" not in {one.id for one in findings}


def parsed(code: int, stdout: str, stderr: str = "") -> tuple[Finding, ...]:
    return preflight.parse(Completed(preflight.look_at_models(RELEASE), code, stdout, stderr, 0.0))


def test_answers() -> None:
    host = {"check": "port", "found": "port 1 is taken", "expected": "a free port", "fix": "stop it"}
    model = {"path": "/m/x", "problem": "is missing", "fix": "fetch it"}
    assert parsed(0, json.dumps({"findings": [host, model]})) == (
        Finding("port", Severity.ERROR, "port 1 is taken; expected a free port", "stop it"),
        Finding("model", Severity.ERROR, "/m/x is missing", "fetch it"),
    )
    assert parsed(0, '{"findings": []}') == ()


def test_a_look_that_fails_is_a_finding() -> None:
    assert [one.id for one in parsed(127, "", "python3: command not found")] == ["python"]
    for code, stdout in ((1, ""), (0, "no json"), (0, "[]"), (0, '{"findings": [{}]}')):
        assert [one.id for one in parsed(code, stdout, "Traceback\nOSError: x")] == ["preflight"]


def test_many_files_are_said_shortly() -> None:
    many = tuple(Finding("model", Severity.ERROR, f"file {n}", "fetch") for n in range(64))
    short = tuple(preflight.shortened(many))
    assert len(short) == preflight.MOST_FILES
    assert short[-1].message == "file 4 (and 59 files more)"
    assert tuple(preflight.shortened(many[:5])) == many[:5]


def test_findings_refuse_the_plan() -> None:
    state = HostState(None, None, (), parse_show(""), None, None)
    finding = Finding("gpus", Severity.ERROR, "7 GPUs", "look")
    assert make_plan("ct200", RELEASE, state, (finding,)).errors == (finding,)
    assert make_plan("ct200", RELEASE, state, ()).errors == ()


def role(name: str, folder: str) -> dict[str, object]:
    content = yaml.safe_load((PROJECT / "roles" / name / folder / "main.yml").read_text())
    assert isinstance(content, dict)
    return content


def test_roles_and_controller_agree_on_places() -> None:
    service, runtime = role("service", "vars"), role("runtime", "vars")
    assert role("preflight", "vars")["preflight_root"] == runtime["runtime_root"] == service["service_root"] == places.ROOT
    own = str(service["service_credentials"]).replace("{{ service_root }}", places.ROOT)
    assert own.replace("releases/{{ release_id }}", "current") == places.CREDENTIALS
    assert service["service_state"] == places.STATE
    users = {role("service", "defaults")["service_user"], role("runtime", "defaults")["service_user"]}
    assert users | {role("model", "defaults")["model_user"]} == {places.SERVICE_USER}
    assert role("preflight", "defaults")["preflight_free_mib"] == RuntimeSpec().free_mib


def test_places_are_no_options_of_roles() -> None:
    for specs in PROJECT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(specs.read_text())["argument_specs"].values():
            assert not {one for one in entry["options"] if one.endswith(("_root", "_secrets", "_state", "_home"))}, specs
