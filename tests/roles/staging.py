"""The parts of the role's module, imported as Ansible imports them on a host: below ansible.module_utils."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

PACKAGE: Any = import_module("ansible.module_utils")
FOLDER = Path(__file__).resolve().parents[2] / "roles" / "runtime" / "module_utils"
if str(FOLDER) not in PACKAGE.__path__:
    PACKAGE.__path__.append(str(FOLDER))


def part(name: str) -> Any:
    """`swap` -> the module of that name."""
    return import_module(f"ansible.module_utils.ddtree_staging.{name}")
