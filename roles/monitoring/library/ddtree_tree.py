#!/usr/bin/python
"""A directory of configuration files that changes as a whole, and only to what its own program accepts."""

from __future__ import annotations

import ctypes
import errno
import grp
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: ddtree_tree
short_description: Replace a directory of configuration files in one step, if a program finds the new one good
description:
  - The new files are written beside the directory and given to C(validate); only then do the two change places, by one rename. So
    neither a reload nor a start ever reads a configuration that is wrong or half written, and files that are gone stay gone.
  - Check mode validates, too, and changes nothing.
options:
  path: {type: path, required: true, description: "The directory; everything in it belongs to this task."}
  files: {type: dict, required: true, description: "Texts by file name, which may hold directories."}
  validate: {type: list, elements: list, default: [], description: "Commands (argv); %s becomes the directory of the new files."}
  group: {type: str, default: root, description: "Group that may read; nobody else may."}
  public: {type: bool, default: false, description: "Whether everybody may read."}
author: ddtree-ops
"""

RETURN = r"""
changed_files: {type: list, returned: always, description: "Names of files that are new, other or gone."}
"""

ARGUMENTS: dict[str, Any] = {
    "path": {"type": "path", "required": True},
    # passwords may be among them
    "files": {"type": "dict", "required": True, "no_log": True},
    "validate": {"type": "list", "elements": "list", "default": []},
    "group": {"type": "str", "default": "root"},
    "public": {"type": "bool", "default": False},
}
_VALIDATE_SECONDS = 60
_MOST_LINES = 20
_EXCHANGE = 2  # RENAME_EXCHANGE of linux/fs.h
_HERE = -100  # AT_FDCWD
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


class Refused(Exception):
    """The program that is to read the files doesn't accept them; the text is what it said."""


class Rights(NamedTuple):
    """Who may read: root, this group, and everybody if `public`."""

    group: int
    public: bool

    def mode(self, path: Path) -> int:
        return (0o750 if path.is_dir() else 0o640) | ((0o005 if path.is_dir() else 0o004) if self.public else 0)


def seen(path: Path) -> dict[str, bytes]:
    """The files of a directory, by name; empty if there is none. Raises OSError."""
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def has_rights(path: Path, rights: Rights) -> bool:
    """Whether everything is root's and readable by whom it should be. Raises OSError."""
    return all(
        (one.stat().st_uid, one.stat().st_gid, one.stat().st_mode & 0o777) == (0, rights.group, rights.mode(one))
        for one in (path, *path.rglob("*"))
    )


def write(path: Path, files: dict[str, bytes], rights: Rights) -> None:
    """A new directory with these files, on the disk. Raises OSError, Refused for a name that leads out of it."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(mode=0o700, parents=True)
    for name, content in files.items():
        target = path / name
        if name.startswith("/") or ".." in Path(name).parts:
            raise Refused(f"{name} is no name of a file in a directory")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    for one in (path, *path.rglob("*")):
        os.chown(one, 0, rights.group)
        one.chmod(rights.mode(one))


def judge(path: Path, commands: list[list[str]]) -> None:
    """Raises Refused with the last lines of the first program that finds fault, OSError if it can't be run."""
    for command in commands:
        argv = [word.replace("%s", str(path)) for word in command]
        done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=_VALIDATE_SECONDS, check=False)
        if done.returncode != 0:
            said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            raise Refused("\n".join((f"{argv[0]} refuses the new configuration; the old one stays", *said[-_MOST_LINES:])))


def publish(new: Path, path: Path) -> None:
    """Let the new directory take the place of the old one (renameat2(2)), and remove the old one. Raises OSError."""
    if not path.exists():
        new.rename(path)
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_HERE, os.fsencode(new), _HERE, os.fsencode(path), _EXCHANGE) != 0:
        code = ctypes.get_errno()
        if code not in _UNSUPPORTED:
            raise OSError(code, os.strerror(code), str(path))
        old = path.with_name(f".{path.name}.old")
        path.rename(old)
        new.rename(path)
        old.rename(new)
    shutil.rmtree(new)


def converge(given: dict[str, Any], *, check: bool) -> dict[str, Any]:
    """Raises Refused, OSError."""
    path, rights = Path(given["path"]), Rights(grp.getgrnam(given["group"]).gr_gid, given["public"])
    files = {name: str(text).encode() for name, text in given["files"].items()}
    before = seen(path)
    other = sorted(name for name in {*files, *before} if files.get(name) != before.get(name))
    if not other and path.is_dir() and has_rights(path, rights):
        return {"changed": False, "changed_files": []}
    new = path.with_name(f".{path.name}.new")
    try:
        write(new, files, rights)
        judge(new, given["validate"])
        if not check:
            publish(new, path)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return {"changed": True, "changed_files": other}


def main() -> None:
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(**converge(module.params, check=module.check_mode))
    except Refused as refused:
        module.fail_json(msg=str(refused))
    except (KeyError, FileNotFoundError) as error:
        if module.check_mode:  # the package that brings group and program would have been installed before
            module.exit_json(changed=True, changed_files=sorted(module.params["files"]))
        module.fail_json(msg=f"what the package brings is missing: {error}")
    except (OSError, subprocess.TimeoutExpired) as error:
        module.fail_json(msg=f"the configuration can't be replaced: {error}")


if __name__ == "__main__":
    main()
