"""What isn't there, told from what we may not see: both are exit code 1 of cat(1), find(1), stat(1), tail(1) and readlink(1)."""

from __future__ import annotations

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.ports import Command, Shell

# Messages are read: the login's language must not matter.
_ENGLISH = ("env", "LC_ALL=C.UTF-8")
_MOST_BYTES = 1 << 20
# strerror(3) of ENOENT and ENOTDIR
_ABSENT = ("No such file or directory", "Not a directory")


def told(shell: Shell, *argv: str, seconds: float = 10.0) -> str:
    """What a program says of what is there; nothing of what isn't. Raises Unreachable; HostCommandFailed if more is wrong."""
    done = shell.run(Command((*_ENGLISH, *argv), ok=frozenset({0, 1}), timeout=seconds, most_bytes=_MOST_BYTES))
    for line in done.stderr.splitlines() if done.exit_code else ():
        if line.strip() and not line.rstrip().endswith(_ABSENT):
            raise HostCommandFailed(f"{shell.host}: {line.strip()[-200:]}")
    return done.stdout
