"""The program of role preflight, as one text: modules of a package and what loads them. The role packs it the same way."""

from __future__ import annotations

import json
from functools import cache

from ddtree_ops import assets

# In the order of their imports; `preflight_modules` of the role says the same.
MODULES = (
    *("finding", "kinds_gpu", "kinds_host", "kinds_stack", "catalogue", "wanted", "running", "aside", "host"),
    *("smi", "units", "processes", "gpus", "gpu_health", "gpu_processes", "links", "machine", "storage", "base"),
    *("kernel_log", "pci", "fatbin", "stack", "toolchain", "main"),
)


@cache
def preflight() -> str:
    """For `python3 - JSON`, or as a program of the look."""
    folder = assets.role_file("preflight", "ddtree_preflight")
    texts = [[name, (folder / f"{name}.py").read_text(encoding="utf-8")] for name in MODULES]
    bootstrap = assets.role_file("preflight", "bootstrap.py").read_text(encoding="utf-8")
    return f"TEXTS = {json.dumps(texts)}\n{bootstrap}"
