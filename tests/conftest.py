"""Hypothesis draws the same examples in every run: a test that fails on one machine fails on all.

Look for new ones by hand: `HYPOTHESIS_PROFILE=search pytest tests/triage` draws others each time.

A test that starts a process says so by a marker; one that doesn't fails, so that `make unit` stays quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from typing import ClassVar

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

_MARKERS = ("processes", "hosts", "versions")
_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})  # audit events


class _Watch:
    """Whether the test that runs may start processes, and what it started although it may not."""

    forbidden = False
    seen: ClassVar[list[str]] = []

    @classmethod
    def hear(cls, event: str, _arguments: object) -> None:
        """An audit hook (PEP 578); what it raises may end up in a thread, so that it is told again at the end."""
        if cls.forbidden and event in _STARTS:
            cls.seen.append(event)
            raise AssertionError(f"a test that starts a process has the marker `processes` ({event})")


sys.addaudithook(_Watch.hear)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Watch over the test and its fixtures."""
    _Watch.forbidden = not any(map(item.get_closest_marker, _MARKERS))
    try:
        return (yield)
    finally:
        _Watch.forbidden = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Tell of a start that was refused in a thread."""
    yield
    started = [*_Watch.seen]
    _Watch.seen.clear()
    assert not started, f"{item.nodeid} starts a process: mark it `processes` ({started[0]})"
