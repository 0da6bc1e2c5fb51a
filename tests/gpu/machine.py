"""What a result was obtained on: card, driver and versions, read from the machine itself."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from typing import Any

PACKAGES = ("sglang", "sglang-kernel", "torch", "triton", "flashinfer-python", "transformers", "sglang-ddtree")


def describe_machine() -> dict[str, Any]:
    """Cards with memory and driver (nvidia-smi), Python, and the versions of the packages that matter ("none" if missing)."""
    query = ("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    try:
        lines = subprocess.run(query, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        lines = []
    cards = [line.split(", ") for line in lines if line.count(", ") == 2]
    return {
        "cards": [{"name": name, "memory": memory} for name, memory, _ in cards],
        "driver": cards[0][2] if cards else "none",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"
