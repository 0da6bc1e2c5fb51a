"""Modules and plugins of role `monitoring`, which Ansible loads by their files."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

ROLE = Path(__file__).resolve().parents[2] / "roles" / "monitoring"


def load(name: str) -> Any:
    """The Python module in this file of the role."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROLE / name)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
