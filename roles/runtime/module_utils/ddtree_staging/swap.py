"""The moment in which a directory becomes a release, and what earlier moments have left.

A release that is there already (damaged) changes places with its successor in one step, so that there always is one: its
processes keep what they run from, which is removed when they are gone.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
from pathlib import Path

from ansible.module_utils.ddtree_staging.fence import Fence
from ansible.module_utils.ddtree_staging.problem import Problem

STAGING = ".staging-"
REPLACED = ".replaced-"
_EXCHANGE = 2  # RENAME_EXCHANGE of linux/fs.h
_HERE = -100  # AT_FDCWD
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_SYNC_SECONDS = 900


def publish(staging: Path, release: Path, fence: Fence) -> Path | None:
    """Bring `staging` to the disk and give it its name. Returns where a former directory of that name is now.

    Raises OSError, Problem; also where the lock was lost meanwhile: building takes minutes, the rest of this no time.
    """
    flush_file_system(staging)
    fence.check()
    former = None
    if os.path.lexists(release):
        exchange(staging, release)
        former = aside(staging, release.name)
    else:
        staging.rename(release)
    flush_directory(release.parent)
    return former


def exchange(one: Path, other: Path) -> None:
    """Let two paths change places in one step; in two where the file system can't (renameat2(2)). Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return
    code = ctypes.get_errno()
    if code not in _UNSUPPORTED:
        raise OSError(code, os.strerror(code), str(one))
    between = aside(other, other.name)
    one.rename(other)
    between.rename(one)


def aside(directory: Path, name: str) -> Path:
    """Rename a directory to a name under which it is nobody's release."""
    number = 1
    while os.path.lexists(target := directory.parent / f"{REPLACED}{name}-{number}"):
        number += 1
    directory.rename(target)
    return target


def clear_leftovers(releases: Path) -> list[str]:
    """Remove what interrupted runs and repairs have left, unless a process still runs from it. Names of what went."""
    gone = []
    for path in sorted(releases.iterdir()):
        if not path.name.startswith((STAGING, REPLACED)):
            continue
        if not path.is_dir() or path.is_symlink():
            path.unlink()
        elif not in_use(path):
            shutil.rmtree(path)
        elif path.name.startswith(STAGING):
            aside(path, path.name[len(STAGING) :])
            continue
        else:
            continue
        gone.append(path.name)
    return gone


def in_use(directory: Path) -> bool:
    """Whether a process works in it: the unit starts the server in its release's directory, and ranks inherit that."""
    inside = f"{directory.resolve()}/"
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                cwd = str((entry / "cwd").readlink())
            except OSError:  # it has just gone
                continue
            if f"{cwd}/".startswith(inside):
                return True
    return False


def flush_file_system(place: Path) -> None:
    """Everything written so far is on the disk when this returns: one call for some ten thousand files (syncfs(2))."""
    argv = ("sync", "--file-system", str(place))
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_SYNC_SECONDS, check=False)
    if done.returncode != 0:
        raise Problem(f"the staged release can't be brought to the disk: {done.stderr.strip()}")


def flush_directory(directory: Path) -> None:
    """A rename in it is on the disk when this returns."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
