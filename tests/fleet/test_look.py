"""The look: its command, run here for real, and its answer, read with suspicion."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.errors import HostCommandFailed, Refused
from ddtree_ops.fleet import look, look_program
from ddtree_ops.fleet.look import command, releases_only
from ddtree_ops.fleet.preflight import MOST_FILES
from ddtree_ops.fleet.state import LockHolder
from tests.fleet.hosts import PORT, RELEASE, UNIT, answer, parsed, said, unit

PROJECT = Path(__file__).resolve().parents[2]


def here(tmp_path: Path, **wanted: Any) -> dict[str, Any]:
    """Run the real program on this machine, over another folder than /opt/ddtree."""
    argv = list(look.command(PORT, RELEASE, 0.0).argv)
    show = [sys.executable, "-c", f"print('Id={UNIT}')"]
    argv[5] = json.dumps({**json.loads(argv[5]), "root": str(tmp_path), "state": str(tmp_path), "units": show} | wanted)
    done = subprocess.run((sys.executable, *argv[1:]), capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.processes
def test_one_command_looks_at_everything(tmp_path: Path) -> None:
    place = tmp_path / "releases" / RELEASE.id
    place.mkdir(parents=True)
    (place / "manifest.json").write_text(json.dumps({"created": "2026", "argv": ["--port", "31000"]}))
    (place / "server.json").write_text('{"argv": []}')
    (place / "files.json").write_text('{"stat": {"server.json": [1, 2, 3], "gone": [1, 2, 3]}, "links": {}}')
    (tmp_path / "current").symlink_to(f"releases/{RELEASE.id}")
    document = here(tmp_path)
    seen = parsed(document)
    assert seen.state.current == RELEASE.id
    assert seen.state.files[RELEASE.id].changed == ("server.json",)
    assert seen.state.files[RELEASE.id].missing == ("gone",)
    assert seen.state.settings == {"argv": []}
    assert {one.id for one in seen.findings} >= {"gpus", "model"}, "this machine is no B300 with models"
    assert "preflight" not in {one.id for one in seen.findings}


@pytest.mark.processes
def test_the_unit_of_the_current_release_is_asked_for_by_its_own_port(tmp_path: Path) -> None:
    place = tmp_path / "releases" / "lab-old"
    place.mkdir(parents=True)
    (place / "manifest.json").write_text('{"created": "2026", "argv": ["--port", "31000"]}')
    (tmp_path / "current").symlink_to("releases/lab-old")
    show = [sys.executable, "-c", "import sys; print('Id=' + sys.argv[-1])"]
    assert here(tmp_path, units=show)["units"][0]["show"] == "Id=ddtree-server@31000.service"


def test_the_command_is_one_that_a_host_takes() -> None:
    command = look.command(PORT, RELEASE, 5.0)
    assert max(map(len, command.argv)) < 100_000, "one argument may have 128 KiB (execve(2), MAX_ARG_STRLEN)"
    assert "\n" not in command.argv[-1]
    wanted = json.loads(command.argv[5])
    assert wanted["units"][:4] == ["systemctl", "show", UNIT, "ddtree-server@*.service"]
    assert set(wanted["programs"]) == {"preflight", "model"}
    assert json.loads(look.command(PORT).argv[5])["programs"] == {}


def test_only_what_it_was_made_for_is_sent() -> None:
    """A module that isn't in the list would be missing on the host; `sources` is a program of its own."""
    assert {path.stem for path in (PROJECT / "ddtree_ops" / "on_host").glob("*.py")} == {
        *look_program.MODULES,
        "__init__",
        "sources",
    }


def test_a_host_where_all_is_well() -> None:
    seen = parsed(answer())
    state = seen.state
    assert (state.current, state.last_good, state.running, state.serving) == (RELEASE.id,) * 4
    assert (state.unit.name, state.unit_is_edited, state.runs_otherwise, state.lock, state.dead_man) == (
        UNIT,
        False,
        False,
        None,
        None,
    )
    assert seen.findings == ()


def test_a_server_that_runs_on_another_port_is_found() -> None:
    other = "ddtree-server@31000.service"
    found = parsed(answer(units=[unit(pid=0), unit(other, release="lab-old")])).state
    assert (found.unit.name, found.unit.port, found.running) == (other, 31000, "lab-old")
    assert parsed(answer(units=[unit(pid=0), unit(other, pid=0)])).state.unit.name == UNIT
    assert not parsed(answer(units=[])).state.unit.exists


def test_the_lock_and_the_dead_man() -> None:
    orders = {
        "release": "lab-b",
        "back_to": None,
        "armed_at": "2026",
        "after_s": 9,
        "invocation": "",
        "seconds_left": 4,
        "port": 1,
    }
    timer = {**unit("ddtree-deadman.timer", pid=0, ActiveState="active", SubState="waiting")}
    state = parsed(answer(lock={"user": "ada", "pid": 7, "other": 1}, dead_man=orders, units=[unit(), timer])).state
    assert state.lock is not None
    assert (state.lock.user, state.lock.pid, state.lock.since) == ("ada", 7, "")
    assert state.dead_man is not None
    assert (state.dead_man.release, state.dead_man.seconds_left, state.dead_man.timer_active) == ("lab-b", 4.0, True)
    torn = parsed(answer(lock={}, dead_man={"seconds_left": None})).state
    assert (torn.lock is not None, torn.dead_man is not None and torn.dead_man.timer_active) == (True, False)
    assert torn.dead_man is not None
    assert (torn.dead_man.damaged, state.dead_man.damaged) == (True, False)


@pytest.mark.parametrize(
    "change",
    [
        *[{"release": [1]}, {"release": None}, {"after_s": {}}, {"after_s": 10**400}, {"after_s": True}],
        *[{"deadline": 10**400}, {"deadline": None}, {"back_to": ["a"]}, {"invocation": 1}, {"armed_at": {}}],
    ],
)
def test_damaged_orders_hide_nothing_else(change: dict[str, Any]) -> None:
    found = parsed(answer(dead_man={"release": "lab-b", "seconds_left": None, **change}, lock={"pid": "x"})).state
    assert found.dead_man is not None
    assert (found.dead_man.damaged, found.dead_man.release) == (True, "")
    assert (found.serving, found.lock) == (RELEASE.id, LockHolder())


def test_the_look_has_less_to_say_than_any_command() -> None:
    """Read as objects, `[],[],...` takes 37 times its size."""
    assert max(command(30000, RELEASE).most_bytes, releases_only().most_bytes) == 16 << 20


def test_damaged_manifests_hide_no_others() -> None:
    good = answer()["releases"][RELEASE.id]
    bad: dict[str, Any] = {"a": None, "b": {}, "c": {"created": 3}, "d": {**good, "argv": "--port"}, "e": {**good, "wheels": [1]}}
    found = parsed(answer(releases={**bad, "old": {**good, "created": "2025"}, RELEASE.id: good})).state
    assert [one.id for one in found.manifests] == [RELEASE.id, "old"]
    assert found.damaged == ("a", "b", "c", "d", "e")


def test_programs_that_fail_are_findings() -> None:
    many = json.dumps({"findings": [{"path": f"/m/{n}", "problem": "is missing", "fix": "fetch"} for n in range(64)]})
    programs = {"preflight": {"output": "", "problem": "no end in 60 s"}, "model": {"output": many, "problem": None}}
    found = parsed(answer(programs=programs)).findings
    assert [one.id for one in found] == ["preflight", *["model"] * MOST_FILES]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"schema": "ddtree-ops/look/v2"}, "schema"),
        ({"links": {"current": 1}}, "links.current"),
        ({"links": []}, "links"),
        ({"releases": {"x": []}}, "releases.x"),
        ({"units": [{"show": "x"}]}, "units.0.drop_ins"),
        ({"units": [{**unit(), "argv": [1]}]}, "units.0.argv.0"),
        ({"files": {"x": {"changed": "abc"}}}, "files.x.changed"),
        ({"files": {"x": {"more": True}}}, "files.x.more"),
        ({"leftovers": [{"name": "a", "age": "old"}]}, "leftovers.0.age"),
        ({"lock": "ada"}, "lock"),
        ({"dead_man": "armed"}, "dead_man"),
        ({"programs": {"preflight": {}}}, "programs.preflight.output"),
        ({"settings": "x"}, "settings"),
    ],
)
def test_a_damaged_answer_is_said_with_its_place(change: dict[str, Any], where: str) -> None:
    with pytest.raises(HostCommandFailed, match="b300: the answer of the look is damaged at " + where.replace(".", r"\.")):
        parsed(answer(**change))


@pytest.mark.parametrize("stdout", ["", "Welcome!\n{}", "[]", "null", '{"a":' * 5000, "\ufffd\x00"])
def test_what_is_no_answer_is_said_in_one_short_line(stdout: str) -> None:
    with pytest.raises(HostCommandFailed) as caught:
        parsed(stdout)
    assert "the answer of the look is damaged" in caught.value.message
    assert len(caught.value.message) < 300


def test_hostile_keys_dont_flood_the_message() -> None:
    with pytest.raises(HostCommandFailed) as caught:
        parsed(answer(links={"x" * 100_000: 1}))
    assert len(caught.value.message) < 300


def test_a_program_that_cant_run() -> None:
    with pytest.raises(Refused, match="python3 can't be started: sudo: python3: command not found"):
        said("", 127, "sudo: python3: command not found\n")
    with pytest.raises(HostCommandFailed, match="exit code 1: MemoryError") as caught:
        said("", 1, "Traceback\nMemoryError\n")
    assert caught.value.evidence == ("Traceback", "MemoryError")
    with pytest.raises(HostCommandFailed, match="systemd can't be asked: Host is down"):
        parsed(answer(units=[], units_problem="Host is down"))


def test_links_only() -> None:
    wanted = json.loads(look.releases_only().argv[5])
    assert (wanted["units"], wanted["programs"]) == ([], {})
