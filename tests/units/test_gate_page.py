"""The page about the gate names what is in the code."""

from __future__ import annotations

from pathlib import Path

from ddtree_ops.fleet.gate_section import GateSpec
from ddtree_ops.units.gate import LEAST_STEPS, MOST_UNEXPLAINED
from ddtree_ops.units.gate_answers import LEAST_STEADY

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "acceptance-gate.md").read_text()


def test_numbers_and_keys_are_the_codes() -> None:
    assert f"fewer than {LEAST_STEPS} verify steps" in PAGE
    assert f"({MOST_UNEXPLAINED:.0%}" in PAGE.replace(" %", "%")
    assert LEAST_STEADY == 4
    assert "fewer than four tokens" in PAGE
    assert f"default of {GateSpec().min_acceptance_length}" in PAGE
    assert f"factor of {GateSpec().baseline_factor}" in PAGE
    assert not [name for name in GateSpec.model_fields if f"`{name}" not in PAGE and f"`gate.{name}" not in PAGE]
