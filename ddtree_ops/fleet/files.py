"""Which files make up an inventory, by Ansible's rules (inventory/manager.py, parsing/dataloader.py; ansible-core 2.19)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ddtree_ops.fleet.mistakes import Mistake, Place

_YAML_SUFFIXES = ("", ".yml", ".yaml", ".json")
# The last two are ours (deploy/ansible.cfg tells Ansible): what the spec names relative to the inventory may lie there.
_IGNORED_NAMES = ("group_vars", "host_vars", "vars_plugins", "patches", "manifests")
_ANSIBLES_OWN = (".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry")
# Certificates beside hosts.yml: Ansible alone would warn of them, and read on; deploy/ansible.cfg has both lists.
_IGNORED_SUFFIXES = (*_ANSIBLES_OWN, ".pem", ".crt")


def source_files(inventory: Path, mistakes: list[Mistake]) -> tuple[Path, ...]:
    """The files that name hosts and groups, in the order in which Ansible reads them (a later one wins)."""
    if not os.path.isdir(inventory):  # noqa: PTH112 - Path.is_dir() raises for a name that is too long
        return (inventory,)
    return tuple(path for path in _sources(inventory, (), mistakes) if _is_readable_kind(path, mistakes))


def _sources(folder: Path, above: tuple[Path, ...], mistakes: list[Mistake]) -> list[Path]:
    found: list[Path] = []
    for path in _listed(folder, above, mistakes):
        if path.name.startswith(".") or path.name in _IGNORED_NAMES or path.name.endswith(_IGNORED_SUFFIXES):
            continue
        found += _sources(path, (*above, folder), mistakes) if path.is_dir() else [path]
    return found


def _listed(folder: Path, above: tuple[Path, ...], mistakes: list[Mistake]) -> list[Path]:
    """What is in a folder; `above` are those that led here, so that links can't lead round in circles."""
    try:
        if any(folder.samefile(other) for other in above):
            mistakes.append(Mistake(Place(folder, 1), "", "is a link to a folder that it lies in"))
            return []
        return sorted(folder.iterdir())
    except OSError as error:
        mistakes.append(Mistake(Place(folder, 1), "", f"can't be read: {error.strerror}"))
        return []


def _is_readable_kind(path: Path, mistakes: list[Mistake]) -> bool:
    if path.suffix not in _YAML_SUFFIXES:
        mistakes.append(Mistake(Place(path, 1), "", "is not YAML; only plain .yml/.yaml inventories are read"))
        return False
    if not path.suffix and os.access(path, os.X_OK):
        mistakes.append(Mistake(Place(path, 1), "", "is a dynamic inventory script; only plain YAML inventories are read"))
        return False
    return True


def variable_files(inventory: Path, folder: str, name: str, mistakes: list[Mistake]) -> tuple[Path, ...]:
    """The files of `group_vars` or `host_vars` (`folder`) for one group or host, in order of rising precedence.

    Ansible takes the first of NAME, NAME.yml, NAME.yaml, NAME.json that exists; a directory NAME hides NAME.yml.
    """
    base = (inventory if inventory.is_dir() else inventory.parent) / folder
    if name.startswith("/"):
        return ()
    for suffix in _YAML_SUFFIXES:
        path = base / f"{name}{suffix}"
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            mistakes.append(Mistake(Place(path, 1), "", f"can't be read: {error.strerror}"))
            return ()
        return tuple(_below(path, (), mistakes)) if stat.S_ISDIR(mode) else (path,)
    return ()


def _below(folder: Path, above: tuple[Path, ...], mistakes: list[Mistake]) -> list[Path]:
    found: list[Path] = []
    for path in _listed(folder, above, mistakes):
        if path.name.startswith(".") or path.name.endswith("~"):
            continue
        if path.is_dir():
            found += [] if path.suffix else _below(path, (*above, folder), mistakes)
        elif path.suffix in _YAML_SUFFIXES and path.exists():
            found.append(path)
    return found
