"""docs/reliability.md says what the kept results say, and nothing else."""

from __future__ import annotations

import json

import pytest

from tests.faults.page import KEPT, PAGE, page


@pytest.mark.skipif(not KEPT.exists(), reason="no run of `make faults` is kept yet")
def test_the_page_is_the_results_own() -> None:
    assert PAGE.read_text() == page(json.loads(KEPT.read_text())), "run `make faults`, or python -m tests.faults.page"
