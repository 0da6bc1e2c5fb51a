"""The plan: what differs between a spec and a host, drift included, and what is taken up."""

from __future__ import annotations

from typing import Any

import pytest

from ddtree_ops.fleet.drift import drift
from ddtree_ops.fleet.launch_words import flags
from ddtree_ops.fleet.plan import Plan, make_plan
from tests.fleet.hosts import RELEASE, UNIT, answer, parsed, unit

OWN = f"/etc/systemd/system/{UNIT}.d/override.conf"
SITE = "/etc/systemd/system/ddtree-server@.service.d/site.conf"


def plan(**changes: Any) -> Plan:
    seen = parsed(answer(**changes))
    return make_plan("b300", RELEASE, seen.state, seen.findings)


def names(made: Plan) -> list[str]:
    return [change.what for change in made.changes]


def files(**changes: Any) -> dict[str, Any]:
    return {"files": {RELEASE.id: {"changed": [], "missing": [], "added": [], "more": 0, **changes}}}


def settings(**changes: Any) -> dict[str, Any]:
    return {"settings": {**RELEASE.server_json(), **changes}}


def test_nothing_differs() -> None:
    made = plan()
    assert (made.changes, made.findings) == ((), ())
    assert made.nothing_to_do
    assert not made.repair


ARGV = RELEASE.server["argv"]


@pytest.mark.parametrize(
    ("changes", "expected", "repair"),
    [
        (
            files(changed=["venv/a.py"], missing=["venv/b.py"], added=["x.pth"]),
            ["file venv/a.py", "file venv/b.py", "file x.pth"],
            True,
        ),
        (files(changed=["a"], more=7), ["file a", "more files"], True),
        (files(problem="files.json is damaged"), ["list of files"], True),
        (settings(argv=[*ARGV, "--tp-size", "4"]), ["argument --tp-size"], True),
        (settings(argv=[word for word in ARGV if word != "--enable-metrics"]), ["argument --enable-metrics"], True),
        (settings(argv="x"), ["server.json argv"], True),
        (settings(environment={}), ["server.json environment"], True),
        (settings(drain_s=1), ["server.json drain_s"], True),
        ({"releases": {RELEASE.id: None}}, ["manifest.json"], True),
        ({"releases": {}}, ["manifest.json"], True),
        ({"units": [{**unit(), "digest": "other"}]}, ["unit file"], False),
        ({"units": [{**unit(), "digest": None}]}, ["unit file"], False),
        ({"units": [{**unit(DropInPaths=SITE), "drop_ins": [OWN]}]}, [f"drop-in {OWN}"], False),
        ({"units": [unit(NeedDaemonReload="yes")]}, ["unit in systemd"], False),
        ({"units": [unit(UnitFileState="disabled")]}, ["start at boot"], False),
        ({"units": [{**unit(), "argv": ["launcher", "--stall", "1"]}]}, ["running arguments"], False),
        ({"units": [unit(release="lab-old")]}, ["running release"], False),
        ({"units": [unit(pid=0)]}, ["server"], False),
        ({"links": {"current": RELEASE.id}}, ["last good"], False),
    ],
)
def test_drift_is_a_change_with_a_name(changes: dict[str, Any], expected: list[str], repair: bool) -> None:
    made = plan(**changes)
    assert (names(made), made.repair) == (expected, repair)
    assert not made.nothing_to_do
    assert made.is_staged is not repair


def test_a_sites_own_drop_in_for_all_servers_is_none_of_ours() -> None:
    assert plan(units=[unit(DropInPaths=SITE)]).nothing_to_do


def test_a_release_without_a_list_of_files_is_not_judged_by_them() -> None:
    assert plan(files={RELEASE.id: None}).nothing_to_do


def test_a_staged_release_that_is_damaged_is_repaired_before_it_becomes_current() -> None:
    old = {**answer()["releases"][RELEASE.id], "created": "2025"}
    releases = {"lab-old": old, RELEASE.id: answer()["releases"][RELEASE.id]}
    changes = {"links": {"current": "lab-old", "last-good": "lab-old"}, "releases": releases, "units": [unit(release="lab-old")]}
    assert plan(**changes).is_staged
    made = plan(**changes, **files(missing=["a"]))
    assert (names(made), made.repair) == (["release", "file a"], True)


def test_damage_of_another_release_is_a_warning() -> None:
    (finding,) = plan(files={RELEASE.id: None, "lab-old": {"missing": ["a"]}}).findings
    assert (finding.id, finding.severity.value) == ("release_damaged", "warning")
    assert "lab-old" in finding.message


def test_leftovers_are_told_while_nobody_works_on_the_host() -> None:
    left = [{"name": ".staging-lab-x", "age": 90.0}, {"name": ".replaced-lab-y-1", "age": 90.0}]
    assert [".staging-lab-x among" in one.message for one in plan(leftovers=left).findings] == [True]
    assert plan(leftovers=left, lock={"user": "ada"}).findings == ()
    assert plan(leftovers=left).nothing_to_do


def dead_man(**changes: Any) -> dict[str, Any]:
    return {"dead_man": {"release": RELEASE.id, "invocation": "before", "after_s": 9, "seconds_left": 5.0, **changes}}


def test_an_unfinished_deploy_is_taken_up() -> None:
    made = plan(**dead_man(), links={"current": RELEASE.id}, units=[unit(InvocationID="new")])
    assert names(made) == ["unfinished deploy", "last good"]
    assert made.is_under_way


@pytest.mark.parametrize(
    "changes",
    [
        dead_man(invocation="new"),  # the unit was never restarted after the switch
        dead_man(release="lab-old"),
        {"units": [{**unit(InvocationID="new"), "drop_ins": [OWN]}]},
        {"units": [{**unit(InvocationID="new"), "argv": ["other"]}]},
        {"units": [unit(InvocationID="new", NeedDaemonReload="yes")]},
        files(changed=["a"]),
    ],
)
def test_what_isnt_as_the_release_says_is_not_taken_up(changes: dict[str, Any]) -> None:
    assert not plan(**({"links": {"current": RELEASE.id}, "units": [unit(InvocationID="new")]} | changes)).is_under_way


def test_drift_needs_no_spec() -> None:
    assert drift(parsed(answer()).state) == ()
    assert drift(parsed(answer(links={}, units=[])).state) == ()
    state = parsed(answer(units=[{**unit(), "drop_ins": [OWN], "argv": ["x"]}], **files(missing=["a"]))).state
    assert [one.what for one in drift(state)] == ["file a", f"drop-in {OWN}", "running arguments"]


def test_flags_of_odd_arguments() -> None:
    assert flags(["odd", "--a", "1", "2", "--b"]) == {"": "odd", "--a": "1 2", "--b": ""}
    assert flags(["--tp-size=8", "--x", "a=b"]) == flags(["--tp-size", "8", "--x", "a=b"]) == {"--tp-size": "8", "--x": "a=b"}


def test_damaged_orders_of_the_dead_man_are_told_and_block_nothing() -> None:
    made = plan(dead_man={"seconds_left": None, "after_s": "x"}, units=[unit(InvocationID="new")])
    assert [(one.what, one.before) for one in made.changes] == [("unfinished deploy", "damaged")]
    assert (made.errors, made.is_under_way) == ((), False)
    (told,) = made.findings
    assert "/var/lib/ddtree/deadman.json" in told.message
    assert "the next deploy replaces" in told.fix


def test_a_server_whose_directory_is_gone_is_no_way_back() -> None:
    gone = {**unit(release=None), "release_gone": RELEASE.id}
    state = parsed(answer(units=[gone])).state
    assert (state.running, state.serving, state.serving_here) == (None, f"{RELEASE.id} (its directory is gone)", None)


def test_wrong_modes_and_directories_for_links_are_changes() -> None:
    assert plan(**files(access={"venv": "0700 of user 0"})).repair
    assert "/opt/ddtree/current" in names(plan(not_links={"current": "a directory"}, links={}))
    assert "state" in [one.id for one in plan(no_state=True).findings]
