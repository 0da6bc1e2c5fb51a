"""Hypothesis draws the same examples in every run: a test that fails on one machine fails on all.

Look for new ones by hand: `HYPOTHESIS_PROFILE=search pytest tests/triage` draws others each time.

A test that starts a process says so by a marker; one that doesn't fails, so that `make unit` stays quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

_MARKERS = ("processes", "hosts", "versions")
_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})  # audit events
_unmarked: list[str] = []
"""The test that runs, unless it may start processes."""


def _forbid(event: str, _arguments: object) -> None:
    if event in _STARTS and _unmarked:
        raise AssertionError(f"{_unmarked[0]} starts a process: mark it `processes` ({event})")


sys.addaudithook(_forbid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Watch over the test and its fixtures."""
    _unmarked[:] = [] if any(map(item.get_closest_marker, _MARKERS)) else [item.nodeid]
    try:
        return (yield)
    finally:
        _unmarked.clear()
