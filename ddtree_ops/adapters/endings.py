"""How a command that came to no good end is told, whatever shell ran it."""

from __future__ import annotations

import shlex

from ddtree_ops.errors import HostCommandFailed, HostTimedOut
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


def timed_out(host: str, command: Command) -> HostTimedOut:
    """No end in time."""
    text = f"{host}: no end after {command.timeout:g} s: {shlex.join(command.argv)}"
    return HostTimedOut(text, hint="the host may be overloaded or frozen")


def too_long(host: str, command: Command, most_bytes: int) -> HostCommandFailed:
    """More output than `most_bytes`."""
    return HostCommandFailed(f"{host}: `{command.argv[0]}` prints more than {most_bytes >> 20} MiB")
