"""A plan as people read it: changes by group, findings by gravity, nothing hostile, no wider than the terminal."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import click
import pytest

from ddtree_ops.cli.plan_view import plan_lines, verdict
from ddtree_ops.fleet.drift import Change, Group
from ddtree_ops.fleet.finding import Finding, Severity, Waiver
from ddtree_ops.fleet.plan import Plan, make_plan
from tests.fleet.hosts import RELEASE, answer, parsed, unit

HOSTILE = "one\nfix: run\u200b this\r\x1b[2J\x1b]0;t\x07 \u202etwo\ufeff"
ERROR = Finding("clock", Severity.ERROR, "the clock is wrong", "mend it", ("date: 1970",))
WARNING = Finding("thp", Severity.WARNING, "never", "echo madvise")
NOTE = Finding("bar1", Severity.NOTE, "small", "nothing")
WAIVED = replace(ERROR, id="disk", waived=Waiver("a test host", date(2026, 12, 31)))


def plan(*findings: Finding, changes: tuple[Change, ...] = ()) -> Plan:
    made = make_plan("b300", RELEASE, parsed(answer()).state, ())
    return replace(made, findings=findings, changes=changes)


def text(made: Plan, *, verbose: bool = False) -> list[str]:
    return [click.unstyle(line) for line in plan_lines(made, verbose=verbose)]


def test_findings_stand_by_gravity_with_evidence_and_fix() -> None:
    assert text(plan(NOTE, WAIVED, WARNING, ERROR)) == [
        "  error: the clock is wrong [clock]",
        "    | date: 1970",
        "    fix: mend it",
        "  warning: never [thp]",
        "    fix: echo madvise",
        "  error, waived: the clock is wrong [disk]",
        "    until 2026-12-31: a test host",
        "  1 note: --verbose shows it",
    ]
    assert "  note: small [bar1]" in text(plan(NOTE), verbose=True)


def test_the_verdict_names_what_refuses() -> None:
    assert click.unstyle(verdict(plan(ERROR, ERROR, WAIVED))) == "would be refused: clock"
    assert "nothing to do" in verdict(plan(WAIVED, WARNING))


def test_changes_by_group_and_the_units_difference() -> None:
    changes = (
        Change("argument --x", None, "", Group.ARGUMENTS),
        Change("package numpy", "1", None, Group.PACKAGES),
        Change("package torch", "1", "2", Group.PACKAGES),
        Change("release", "a", "b", Group.RELEASE),
        Change("unit text", "this", "that", Group.UNIT, ("-Nice=1", "+Nice=2")),
    )
    assert text(plan(changes=changes)) == [
        "  ~ release: a -> b",
        "  packages",
        "    ~ torch: 1 -> 2",
        "    - numpy 1",
        "  arguments",
        "    + --x",
        "  unit",
        "    ~ text: this -> that",
        "      -Nice=1",
        "      +Nice=2",
    ]


def test_hundreds_of_packages_are_cut_but_for_verbose() -> None:
    many = tuple(Change(f"package p{n}", None, "1", Group.PACKAGES) for n in range(100))
    assert len(text(plan(changes=many))) == 14
    assert len(text(plan(changes=many), verbose=True)) == 101


def test_nothing_hostile_reaches_the_terminal() -> None:
    finding = Finding(HOSTILE, Severity.ERROR, HOSTILE, HOSTILE, (HOSTILE,))
    waived = replace(finding, waived=Waiver(HOSTILE, date(2026, 12, 31)))
    changes = tuple(Change(HOSTILE, HOSTILE, HOSTILE, group, (f"+{HOSTILE}",)) for group in Group)
    lines = [*plan_lines(plan(finding, waived, changes=changes), verbose=True), verdict(plan(finding))]
    assert all(click.unstyle(line).isprintable() for line in lines)
    assert not [line for line in lines if "[2J" in line or "0;t" in line]


LONG = Finding("disk", Severity.ERROR, "word " * 90, "word " * 90, ("word " * 90,))


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_a_finding_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    widest = max(map(len, text(plan(LONG))))
    assert min(columns, 140) - 5 <= widest <= min(columns, 140)


def test_elsewhere_a_finding_is_a_line_for_grep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert len(text(plan(LONG))) == 3


def test_what_is_not_dim_says_nothing_of_it() -> None:
    assert not [line for line in plan_lines(plan(ERROR)) if "\x1b[22m" in line]


def test_the_plan_of_another_release_has_packages_and_unit() -> None:
    release = {**answer()["releases"][RELEASE.id], "unit_sha256": "own", "lock_sha256": "other"}
    document = answer(
        links={"current": "lab-old"},
        releases={"lab-old": release},
        units=[unit(release="lab-old")],
        pins={"torch": ["1", "aa"]},
        unit_texts={"release": "[Unit]\nA=1\n# old\n", "installed": None},
    )
    made = make_plan("b300", RELEASE, parsed(document).state, (), "[Unit]\nA=2\n# new\n")
    groups = {one.group: one for one in made.changes}
    assert (groups[Group.PACKAGES].what, groups[Group.PACKAGES].after) == ("package torch", None)
    assert groups[Group.UNIT].detail == ("@@ -1,2 +1,2 @@", " [Unit]", "-A=1", "+A=2")


def test_an_edited_unit_file_shows_the_edit() -> None:
    texts = {"release": "[Unit]\nA=1\n", "installed": "[Unit]\nA=2\n"}
    made = make_plan("b300", RELEASE, parsed(answer(units=[{**unit(), "digest": "x"}], unit_texts=texts)).state, ())
    assert made.changes[0].detail[-2:] == ("-A=2", "+A=1")
