"""Each finding of the preflight program: what makes it appear, and what keeps it away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ddtree_preflight.catalogue import BY_ID
from tests.roles.preflight_case import cases, look

CASES = cases()


@pytest.mark.parametrize("hardware", ["rtx", "b300"])
def test_a_sound_host_has_no_findings_at_all(tmp_path: Path, hardware: str) -> None:
    assert look(tmp_path, {"profile": hardware}) == []


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(tmp_path: Path, case: dict[str, Any]) -> None:
    found = look(tmp_path, case)
    expected = case["expect"]
    assert {one.check for one in found} == expected.keys(), found
    for one in found:
        severity, _, words = expected[one.check].partition(": ")
        assert one.severity == severity, one
        assert words in one.found, one
        assert one.fix
        assert one.evidence


def test_every_finding_has_a_case_that_makes_it_appear_and_one_that_keeps_it_away() -> None:
    """The sound host keeps all of them away; only what the machine itself has to do is elsewhere (test_preflight_program)."""
    shown = {check for case in CASES for check in case["expect"]}
    assert shown == {kind.id for kind in BY_ID.values() if not kind.probe} - {"preflight"}
