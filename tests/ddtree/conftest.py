"""Makes the host package importable (it is a distribution of its own), lets Triton interpret its kernels on the CPU, and keeps
hypothesis from timing a busy machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import settings

SOURCE = Path(__file__).parents[2] / "deploy" / "runtime" / "sglang_ddtree" / "src"
sys.path.insert(0, str(SOURCE))
os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported first, by whatever module

settings.register_profile("ddtree", deadline=None, max_examples=150, derandomize=True)
settings.load_profile("ddtree")
