"""Hypothesis draws the same examples in every run: a test that fails on one machine fails on all.

Look for new ones by hand: `HYPOTHESIS_PROFILE=search pytest tests/triage` draws others each time.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
