"""One folder per kind of mistake: an inventory, and `expected.txt` with every line that must be reported for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.inventory import load_fleet

CASES = Path(__file__).parent / "cases"
NAMES = sorted(path.name for path in CASES.iterdir())


def reported(case: Path) -> str:
    """The error of a case as text; paths are relative to the case."""
    with pytest.raises(InvalidInventory) as caught:
        load_fleet(case, validate=True)
    lines = (caught.value.message, *caught.value.evidence)
    return "".join(line.replace(f"{case}/", "").replace(f"{case}:", ".:") + "\n" for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_is_reported_at_its_line(name: str) -> None:
    case = CASES / name
    text = reported(case)
    assert text == (case / "expected.txt").read_text()
    assert "do-not-print-me" not in text
