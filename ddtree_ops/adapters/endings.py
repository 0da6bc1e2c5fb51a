"""How a command that came to no good end is told, whatever shell ran it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from ddtree_ops.errors import HostCommandFailed, HostTimedOut, Unreachable
from ddtree_ops.ports import Command, Completed


def judged(host: str, done: Completed) -> Completed:
    """The command as it ended, if its exit code is an answer. Raises HostCommandFailed."""
    if done.exit_code not in done.command.ok:
        raise ended_with(host, done.command.argv, done.exit_code, done.stderr or done.stdout)
    return done


def ended_with(host: str, argv: tuple[str, ...], code: int, output: str) -> HostCommandFailed:
    """An exit code that is no answer, with the last line that the program said."""
    lines = output.strip().splitlines()
    text = f"{host}: `{shlex.join(argv)}` ended with exit code {code}" + (f": {lines[-1]}" if lines else "")
    return HostCommandFailed(text, evidence=tuple(lines[-20:]))


@contextmanager
def bounded(host: str, command: Command, most_bytes: int) -> Iterator[None]:
    """Around a command of which TimeoutError means no end in time, OverflowError more output than `most_bytes` (output.whole).

    Raises HostTimedOut, HostCommandFailed.
    """
    try:
        yield
    except TimeoutError as error:
        text = f"{host}: no end after {command.timeout:g} s: {shlex.join(command.argv)}"
        raise HostTimedOut(text, hint="the host may be overloaded or frozen") from error
    except OverflowError as error:
        raise HostCommandFailed(f"{host}: `{command.argv[0]}` prints more than {most_bytes >> 20} MiB") from error


def lost(host: str, error: Exception | None = None) -> Unreachable:
    """The connection to the host broke off."""
    why = f": {reason(error)}" if error else ""
    return Unreachable(f"{host}: the connection was lost{why}", hint="is the host still up?")


def reason(error: Exception) -> str:
    """Why a connection failed; many such errors say nothing."""
    return "no answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
