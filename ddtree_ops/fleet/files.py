"""Which files make up an inventory, by Ansible's rules (inventory/manager.py, parsing/dataloader.py; ansible-core 2.19)."""

from __future__ import annotations

import os
from pathlib import Path

from ddtree_ops.fleet.mistakes import Mistake, Place

_YAML_SUFFIXES = ("", ".yml", ".yaml", ".json")
# The last two are ours (deploy/ansible.cfg tells Ansible): what the spec names relative to the inventory may lie there.
_IGNORED_NAMES = ("group_vars", "host_vars", "vars_plugins", "patches", "manifests")
_IGNORED_SUFFIXES = (".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry")


def source_files(inventory: Path, mistakes: list[Mistake]) -> tuple[Path, ...]:
    """The files that name hosts and groups, in the order in which Ansible reads them (a later one wins)."""
    if not inventory.is_dir():
        return (inventory,)
    found: list[Path] = []
    for path in sorted(inventory.iterdir()):
        if path.name.startswith(".") or path.name in _IGNORED_NAMES or path.name.endswith(_IGNORED_SUFFIXES):
            continue
        found += source_files(path, mistakes) if path.is_dir() else [path]
    return tuple(path for path in found if _is_readable_kind(path, mistakes))


def _is_readable_kind(path: Path, mistakes: list[Mistake]) -> bool:
    if path.suffix not in _YAML_SUFFIXES:
        mistakes.append(Mistake(Place(path, 1), "", "is not YAML; only plain .yml/.yaml inventories are read"))
        return False
    if not path.suffix and os.access(path, os.X_OK):
        mistakes.append(Mistake(Place(path, 1), "", "is a dynamic inventory script; only plain YAML inventories are read"))
        return False
    return True


def variable_files(inventory: Path, folder: str, name: str) -> tuple[Path, ...]:
    """The files of `group_vars` or `host_vars` (`folder`) for one group or host, in order of rising precedence.

    Ansible takes the first of NAME, NAME.yml, NAME.yaml, NAME.json that exists; a directory NAME hides NAME.yml.
    """
    base = (inventory if inventory.is_dir() else inventory.parent) / folder
    if name.startswith("/"):
        return ()
    for suffix in _YAML_SUFFIXES:
        path = base / f"{name}{suffix}"
        if path.is_dir():
            return tuple(_below(path))
        if path.exists():
            return (path,)
    return ()


def _below(directory: Path) -> list[Path]:
    found: list[Path] = []
    for path in sorted(directory.iterdir()):
        if path.name.startswith(".") or path.name.endswith("~"):
            continue
        if path.is_dir() and not path.suffix:
            found += _below(path)
        elif path.is_file() and path.suffix in _YAML_SUFFIXES:
            found.append(path)
    return found
