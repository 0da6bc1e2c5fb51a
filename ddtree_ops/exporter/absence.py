"""What isn't there, told from what we may not see: both are exit code 1 of cat(1), find(1), stat(1), tail(1) and readlink(1)."""

from __future__ import annotations

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.ports import Completed

#: Before a command whose messages are read: the login's language must not matter.
ENGLISH = ("env", "LC_ALL=C.UTF-8")
# strerror(3) of ENOENT and ENOTDIR
_ABSENT = ("No such file or directory", "Not a directory")


def checked(host: str, done: Completed) -> Completed:
    """The same answer, if all that failed in it is that something isn't there. Raises HostCommandFailed."""
    if done.exit_code:
        for line in done.stderr.splitlines():
            if line.strip() and not line.rstrip().endswith(_ABSENT):
                raise HostCommandFailed(f"{host}: {line.strip()[-200:]}")
    return done
