"""Waivers: what counts for nothing, until when, and what is said of it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import yaml

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.finding import NO_WAIVERS, Finding, Severity, Waiver
from ddtree_ops.fleet.inventory import load_fleet
from ddtree_ops.fleet.sections import WaiverSpec
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.fleet.waivers import UNUSED, apply

CLOCK = Finding("clock", Severity.ERROR, "the clock is wrong", "mend it")
DISK = Finding("disk", Severity.ERROR, "no room", "make some")
LAST = date(2026, 12, 31)
WAIVERS = {"clock": WaiverSpec(reason="no net here", until=LAST)}


def test_a_waived_finding_refuses_nothing_and_others_stay() -> None:
    clock, disk = apply((CLOCK, DISK), WAIVERS, LAST)
    assert clock.waived == Waiver("no net here", LAST)
    assert (clock.refuses, disk.refuses) == (False, True)
    assert clock.as_data()["waived"] == {"reason": "no net here", "until": "2026-12-31"}


def test_the_day_after_it_counts_again_and_says_so() -> None:
    (clock,) = apply((CLOCK,), WAIVERS, date(2027, 1, 1))
    assert clock.refuses
    assert clock.message == "the clock is wrong (its waiver expired on 2026-12-31: no net here)"


def test_every_finding_of_that_id_is_waived() -> None:
    assert [one.refuses for one in apply((CLOCK, CLOCK), WAIVERS, LAST)] == [False, False]


def test_a_waiver_without_a_finding_is_a_note() -> None:
    disk, note = apply((DISK,), WAIVERS, LAST)
    assert disk == DISK
    assert (note.id, note.severity) == (UNUSED, Severity.NOTE)
    assert "clock" in note.message


def test_a_note_needs_no_waiver_and_a_dropped_one_waives_nothing() -> None:
    note = Finding("thp", Severity.NOTE, "off", "nothing")
    assert apply((note,), {"thp": WaiverSpec(reason="fine", until=LAST)}, LAST) == (note,)
    assert apply((CLOCK,), {"clock": None}, LAST) == (CLOCK,)


@pytest.mark.parametrize("until", ["2026-12-31", '"2026-12-31"'])
def test_over_groups_and_hosts(tmp_path: Path, until: str) -> None:
    """A date of YAML or the same as text; the host keeps what its group waives, replaces one, and drops one by null."""
    (tmp_path / "hosts.yml").write_text("all: {vars: {ddtree_hardware: b300-8x}, hosts: {b300: }}")
    for folder in ("group_vars", "host_vars"):
        (tmp_path / folder).mkdir()
    given = ", ".join(
        f"{name}: {{reason: {why}, until: {until}}}" for name, why in (("clock", "no net"), ("disk", "big"), ("thp", "old"))
    )
    (tmp_path / "group_vars" / "all.yml").write_text(f"ddtree_serving_defaults: {{waivers: {{{given}}}}}")
    host = f"{{clock: null, thp: {{reason: new, until: {until}}}}}"
    (tmp_path / "host_vars" / "b300.yml").write_text(f"ddtree_serving: {{model: {{path: /m}}, waivers: {host}}}")
    found = load_fleet(tmp_path).host("b300").serving.waivers
    assert found == {
        "clock": None,
        "disk": WaiverSpec(reason="big", until=LAST),
        "thp": WaiverSpec(reason="new", until=LAST),
    }


@pytest.mark.parametrize("name", NO_WAIVERS)
def test_what_cant_be_waived_is_said_with_the_reason(tmp_path: Path, name: str) -> None:
    serving = {"model": {"path": "/m"}, "waivers": {name: {"reason": "we shall see", "until": "2026-12-31"}}}
    document = {"all": {"hosts": {"h": {"ddtree_hardware": "b300-8x", "ddtree_serving": serving}}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump(document))
    with pytest.raises(InvalidInventory, match=f"waivers.{name}: can't be waived: {NO_WAIVERS[name]}"):
        _ = load_fleet(tmp_path).host("h").serving


def test_a_waiver_makes_no_other_release() -> None:
    """Else a waiver would load the whole model again."""
    from ddtree_ops.fleet.release import build
    from tests.fleet.hosts import RELEASE, SPEC

    spec = ServingSpec.model_validate({**SPEC, "waivers": {"clock": {"reason": "no net", "until": "2026-12-31"}}})
    assert build(spec, RELEASE.hardware, RELEASE.inputs).id == RELEASE.id
