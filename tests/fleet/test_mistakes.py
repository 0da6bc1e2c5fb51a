"""One folder per kind of mistake: an inventory, and `expected.txt` with every line that must be reported for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.inventory import load_fleet

CASES = Path(__file__).parent / "cases"
NO_SPEC = "so there is nothing to serve"
NAMES = sorted(path.name for path in CASES.iterdir())


def reported(case: Path) -> str:
    """What users of the case's hosts get to see, but for hosts that shall serve nothing; paths are relative to the case."""
    lines = dict.fromkeys(line for error in errors(case) for line in (error.message, *error.evidence) if NO_SPEC not in line)
    return "".join(line.replace(f"{case}/", "").replace(f"{case}:", ".:") + "\n" for line in lines)


def errors(case: Path) -> Iterator[InvalidInventory]:
    try:
        hosts = load_fleet(case).hosts
    except InvalidInventory as error:
        yield error
        return
    for host in hosts:
        for part in ("connection", "hardware", "serving") if host.serves else ("connection", "serving"):
            try:
                getattr(host, part)
            except InvalidInventory as error:
                yield error


@pytest.mark.parametrize("name", NAMES)
def test_every_mistake_is_reported_at_its_line(name: str) -> None:
    case = CASES / name
    text = reported(case)
    assert sorted(text.splitlines()) == sorted((case / "expected.txt").read_text().splitlines())
    assert "do-not-print-me" not in text
