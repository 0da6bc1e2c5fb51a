"""Input without end takes no memory: each kind is read by a process of its own, which says what it took at most."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.triage.endless import ENDLESS

pytestmark = pytest.mark.processes
PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ENDLESS)
def test_nothing_grows(name: str) -> None:
    done = subprocess.run(
        (sys.executable, "-m", "tests.triage.endless", name), capture_output=True, text=True, timeout=120, check=True, cwd=PROJECT
    )
    assert int(done.stdout) < 150
