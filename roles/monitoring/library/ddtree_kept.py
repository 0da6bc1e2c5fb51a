#!/usr/bin/python
"""The files with which units ran last, and the way back to them when they don't run with new ones."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: ddtree_kept
short_description: Keep the files of units that run, and put them back when what replaced them doesn't
description:
  - State C(kept) copies the files of each unit, C(first) those of units that are active and of which nothing is kept yet. State
    C(put_back) writes what differs from what was kept, removes what wasn't there, and starts these units again.
  - A symbolic link is kept as one, and stays as it is where it would lead nowhere. Check mode does nothing.
options:
  folder: {type: path, required: true, description: "Where they are kept; root's alone."}
  units: {type: dict, required: true, description: "Paths of the files by name of the unit."}
  state: {type: str, required: true, choices: [first, kept, put_back], description: "What to do."}
author: ddtree-ops
"""

RETURN = r"""
put_back: {type: list, returned: always, description: "Names of the units whose former files are there again."}
units: {type: list, returned: with state put_back, description: "The same, as module ddtree_running takes them."}
"""

ARGUMENTS: dict[str, Any] = {
    "folder": {"type": "path", "required": True},
    "units": {"type": "dict", "required": True},
    "state": {"type": "str", "required": True, "choices": ["first", "kept", "put_back"]},
}
_SYSTEMCTL_SECONDS = 120
_LINK_NAME = ".ddtree-former"


class Unit(NamedTuple):
    """A unit, its files, and the directory in which they are kept under their place in the list."""

    name: str
    paths: tuple[Path, ...]
    kept: Path

    def keep(self) -> None:
        """Raises OSError."""
        new = self.kept.with_name(f".{self.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700, parents=True)
        for path in self.paths:
            if os.path.lexists(path):
                shutil.copy2(path, new / _name(path), follow_symlinks=False)
        shutil.rmtree(self.kept, ignore_errors=True)
        new.rename(self.kept)

    def put_back(self) -> bool:
        """Whether any file had to be. Raises OSError."""
        done = [_put_back(self.kept / _name(path), path) for path in self.paths] if self.kept.is_dir() else []
        return any(done)


def _name(path: Path) -> str:
    return str(path).strip("/").replace("/", "--")


def _put_back(kept: Path, path: Path) -> bool:
    if _content(kept) == _content(path):
        return False
    if not os.path.lexists(kept):
        path.unlink()
        return True
    if kept.is_symlink() and not (path.parent / kept.readlink()).exists():
        return False
    new = path.with_name(_LINK_NAME)
    new.unlink(missing_ok=True)
    shutil.copy2(kept, new, follow_symlinks=False)
    new.replace(path)
    return True


def _content(path: Path) -> tuple[str, bytes] | None:
    if path.is_symlink():
        return "link", os.fsencode(path.readlink())
    return ("file", path.read_bytes()) if path.exists() else None


def _systemctl(*words: str) -> bool:
    done = subprocess.run(("systemctl", *words), capture_output=True, timeout=_SYSTEMCTL_SECONDS, check=False)
    return done.returncode == 0


def put_back(units: list[Unit]) -> list[str]:
    """Names of units whose files were, which are started again: whether that helped is for others to see. Raises OSError."""
    names = [unit.name for unit in units if unit.put_back()]
    if names:
        services = [f"{name}.service" for name in names]
        _systemctl("daemon-reload")
        _systemctl("reset-failed", *services)  # one that died too often isn't started otherwise
        _systemctl("restart", *services)
    return names


def main() -> None:
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    folder, state = Path(module.params["folder"]), module.params["state"]
    units = [Unit(name, tuple(map(Path, paths)), folder / name) for name, paths in module.params["units"].items()]
    if module.check_mode:
        module.exit_json(changed=False, put_back=[])
    try:
        if state == "put_back":
            names = put_back(units)
            module.exit_json(changed=bool(names), put_back=names, units=[{"name": name} for name in names])
        for unit in units:
            if state == "kept" or (not unit.kept.exists() and _systemctl("is-active", "--quiet", f"{unit.name}.service")):
                unit.keep()
    except (OSError, subprocess.SubprocessError) as error:
        module.fail_json(msg=f"the files of these units can't be {'put back' if state == 'put_back' else 'kept'}: {error}")
    module.exit_json(changed=False, put_back=[])


if __name__ == "__main__":
    main()
