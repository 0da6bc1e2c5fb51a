"""Makes the host package importable: it is a distribution of its own and not installed where the tests run."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "deploy" / "runtime" / "sglang_ddtree" / "src"
sys.path.insert(0, str(SOURCE))
