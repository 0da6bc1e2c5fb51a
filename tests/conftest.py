"""Which tests share a worker, and which examples they draw.

Hypothesis draws the same examples in every run: a test that fails on one machine fails on all.

Look for new ones by hand: `HYPOTHESIS_PROFILE=search pytest tests/triage` draws others each time.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

# By name of the file; others are a group of their own. The dashboards' share a Prometheus that takes seconds to fill.
_TOGETHER = ("test_dashboards_",)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For `--dist loadgroup`: tests of a file stay together, since fixtures and state are a file's; and some files, too."""
    for item in items:
        group = next((name for name in _TOGETHER if item.path.name.startswith(name)), item.nodeid.partition("::")[0])
        item.add_marker(pytest.mark.xdist_group(group))
