"""The user that runs the server: a system account without login, in the groups that own GPU device nodes."""

from __future__ import annotations

import grp
import pwd
import subprocess
from pathlib import Path

from ansible.module_utils.ddtree_staging.problem import Problem

_DEVICE_GROUPS = ("video", "render")
_TIMEOUT_SECONDS = 30


def ensure(user: str, home: Path) -> bool:
    """Make the account, or add it to the groups that the distribution has. True if something was changed."""
    present = [group for name in _DEVICE_GROUPS if (group := _group(name))]
    try:
        primary = pwd.getpwnam(user).pw_gid
    except KeyError:
        groups = ",".join(group.gr_name for group in present)
        extra = ("--groups", groups) if groups else ()
        _run("useradd", "--system", "--shell", "/usr/sbin/nologin", "--home-dir", str(home), "--no-create-home", *extra, user)
        return True
    missing = [group.gr_name for group in present if user not in group.gr_mem and group.gr_gid != primary]
    if missing:
        _run("usermod", "--append", "--groups", ",".join(missing), user)
    return bool(missing)


def _group(name: str) -> grp.struct_group | None:
    try:
        return grp.getgrnam(name)
    except KeyError:
        return None


def _run(*argv: str) -> None:
    try:
        subprocess.run(argv, check=True, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS)
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or error.stdout).strip().splitlines()
        raise Problem(f"{argv[0]} failed for the service user: {lines[-1] if lines else error.returncode}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Problem(f"{argv[0]} can't be run: {error}") from error
