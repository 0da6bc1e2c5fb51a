"""Every error that ddtree-ops expects, as one tree.

    DdtreeOpsError            an expected failure: one line, with the fix; never a Python traceback
    +-- UsageError            2    the command line asks for something that can't be
    |   +-- InvalidInventory  2    inventory or serving spec: file, line, key, what was expected
    +-- Unreachable           3    no SSH connection to the host
    |   +-- HostTimedOut      3    a command on the host did not end in time: frozen, overloaded, or one program hangs
    |   +-- HostKeyRejected   3    the host's key is unknown or has changed
    |   +-- AuthRejected      3    the host refused our login
    +-- HostCommandFailed     1    a command on a host ended with an exit code that it should not have
    +-- PlaybookFailed        1    an Ansible task failed
    +-- ServerDied            4    the server crashed while we waited for it or talked to it
    +-- ServerStalled         5    nothing moved any more, or the time ran out
    +-- ServerStopped         1    somebody stopped the server while we waited for it
    +-- SmokeFailed           1    the server answered, but not rightly
    +-- Refused               7    a preflight finding or the staged runtime refuses this configuration
    +-- GateRefused           7    the acceptance gate refuses a release that serves
    +-- GateInconclusive     10    the acceptance gate had too little to judge by
    +-- Locked                9    another command holds the host

The number is the exit code of the command (README's table, kept stable for scripts).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

# With several hosts the command ends with the first of these codes that occurred.
RANKING = (1, 3, 5, 4, 8, 7, 9, 10, 2, 6)


def exit_code(codes: Iterable[int]) -> int:
    """One exit code for several hosts."""
    occurred = set(codes) - {0}
    return next((code for code in RANKING if code in occurred), max(occurred, default=0))


class DdtreeOpsError(Exception):
    """An expected failure. `message` is one line; `hint` is what to do about it; `evidence` are lines that show it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None, evidence: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.evidence = evidence


class UsageError(DdtreeOpsError):
    """The command line asks for something that can't be."""

    exit_code = 2


class InvalidInventory(UsageError):
    """An inventory or serving spec that can't be used. `message` starts with `file:line: key: `."""


class Unreachable(DdtreeOpsError):
    """No SSH connection to the host."""

    exit_code = 3


class HostTimedOut(Unreachable):
    """A command on the host did not end in time."""


class HostKeyRejected(Unreachable):
    """The host's key is unknown, or another one than known_hosts has."""


class AuthRejected(Unreachable):
    """The host refused our login."""


class HostCommandFailed(DdtreeOpsError):
    """A command on a host ended with an exit code that it should not have."""


class PlaybookFailed(DdtreeOpsError):
    """An Ansible task failed; the evidence holds its own message."""


class ServerDied(DdtreeOpsError):
    """The server crashed while we waited for it or talked to it."""

    exit_code = 4


class ServerStalled(DdtreeOpsError):
    """Nothing moved any more, or the time ran out."""

    exit_code = 5


class ServerStopped(DdtreeOpsError):
    """Somebody stopped the server on purpose while we waited for it: no failure of its release."""


class SmokeFailed(DdtreeOpsError):
    """The server answered, but not rightly."""


class Refused(DdtreeOpsError):
    """A preflight finding, or the staged runtime itself, refuses this configuration."""

    exit_code = 7


class GateRefused(DdtreeOpsError):
    """The acceptance gate refuses a release that serves: another algorithm, too little acceptance, other answers."""

    exit_code = 7


class GateInconclusive(DdtreeOpsError):
    """The acceptance gate had too little to judge by, which is no pass."""

    exit_code = 10


class Locked(DdtreeOpsError):
    """Another command holds the host."""

    exit_code = 9
