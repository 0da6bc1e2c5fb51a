"""Arguments for the programs of the roles, and their answers as findings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from ddtree_host import credentials, deadman, lock
from ddtree_host.places import Places
from ddtree_ops.fleet import places, preflight
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.plan import make_plan
from ddtree_ops.fleet.release import LocalWheel, ReleaseInputs, build
from ddtree_ops.fleet.sections import RuntimeSpec
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.fleet.state import HostState
from ddtree_ops.on_host import units
from ddtree_ops.units.systemctl import parse_show

PROJECT = Path(__file__).resolve().parents[2]
SPEC = {"model": {"path": "/srv/m"}, "draft_model": {"path": "/srv/d"}, "runtime": {"python": "/usr/bin/python3", "free_mib": 7}}
RELEASE = build(
    ServingSpec.model_validate(SPEC), profile("b300-8x"), ReleaseInputs("lab", "x", "[Unit]", (LocalWheel("/w/p.whl", "0"),))
)


def test_the_program_gets_what_the_release_wants() -> None:
    (text,) = preflight.host_arguments(RELEASE, now=5.0)
    wanted = json.loads(text)
    assert wanted["gpus"] == RELEASE.role_variables()["preflight_gpus"]
    assert wanted["gpus"]["names"] == ["NVIDIA B300 SXM6 AC"]
    assert (wanted["python"], wanted["port"], wanted["free_mib"], wanted["now"]) == ("/usr/bin/python3", 30000, 7, 5.0)
    assert RELEASE.role_variables()["preflight_free_mib"] == 7
    assert preflight.model_arguments(RELEASE) == [places.SERVICE_USER, "/srv/m", "/srv/d"]


def test_answers() -> None:
    host = {"check": "port", "found": "port 1 is taken", "expected": "a free port", "fix": "stop it"}
    model = {"path": "/m/x", "problem": "is missing", "fix": "fetch it"}
    assert preflight.parse(json.dumps({"findings": [host, model]}), None) == (
        Finding("port", Severity.ERROR, "port 1 is taken; expected a free port", "stop it"),
        Finding("model", Severity.ERROR, "/m/x is missing", "fetch it"),
    )
    assert preflight.parse('{"findings": []}', None) == ()


@pytest.mark.parametrize(
    "output", ["", "no json", "[" * 100_000, "[]", "{}", '{"findings": [{}]}', '{"findings": {"a": 1}}', '{"findings": [1]}']
)
def test_a_program_that_fails_is_a_finding(output: str) -> None:
    assert [one.id for one in preflight.parse(output, None)] == ["preflight"]
    assert "no end in 60 s" in preflight.parse(output, "no end in 60 s")[0].message


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
    assert (str(Places().root), str(Places().state), lock.STATE) == (places.ROOT, places.STATE, places.STATE)
    assert {str(path) for path in Places().drop_in_bases} == set(units.DIRECTORIES)
    assert role("model", "defaults")["model_memory"] == places.MODELS
    assert (str(Places().audit), deadman.TIMER) == (places.AUDIT, places.DEAD_MAN_TIMER)
    assert str(credentials.own(Places().root / "current")) == places.CREDENTIALS
    assert role("service", "defaults")["service_keep"] == RuntimeSpec().keep
    users = {role("service", "defaults")["service_user"], role("runtime", "defaults")["service_user"]}
    assert users | {role("model", "defaults")["model_user"]} == {places.SERVICE_USER}
    assert role("preflight", "defaults")["preflight_free_mib"] == RuntimeSpec().free_mib


def test_places_are_no_options_of_roles() -> None:
    for specs in PROJECT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(specs.read_text())["argument_specs"].values():
            assert not {one for one in entry["options"] if one.endswith(("_root", "_secrets", "_state", "_home"))}, specs
