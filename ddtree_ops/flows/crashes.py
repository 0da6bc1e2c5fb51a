"""The crashes that a host keeps: journals of failed runs, written by the unit itself (sglang_ddtree/keep_crash.py)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddtree_ops.errors import HostCommandFailed, UsageError
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Shell
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.units.whole_number import whole_number

if TYPE_CHECKING:
    from ddtree_ops.report.failure import FailureReport

DIRECTORY = f"{places.STATE}/crashes"
_NAME = re.compile(r"(?P<at>\d{8}T\d{6}Z)-(?P<invocation>[0-9a-f]{32})\.export\.gz")


@dataclass(frozen=True, slots=True)
class Crash:
    """One kept journal. `at`: when the run ended, UTC, as in the file's name; `size` in bytes, compressed."""

    name: str
    at: str
    invocation: str
    size: int

    @property
    def time(self) -> str:
        """`at` in RFC 3339."""
        a = self.at
        return f"{a[:4]}-{a[4:6]}-{a[6:8]}T{a[9:11]}:{a[11:13]}:{a[13:15]}Z"


def listing() -> Command:
    """Command that lists the kept journals; read by `parse_listing`. Exit code 1: there is no such directory yet."""
    pattern = ("-name", "*.export.gz", "-type", "f", "-printf", r"%f\t%s\n")
    return Command(("find", DIRECTORY, "-maxdepth", "1", *pattern), ok=frozenset({0, 1}))


def parse_listing(output: str) -> tuple[Crash, ...]:
    """The kept journals, oldest first; what else lies there is left out."""
    found = []
    for line in output.splitlines():
        name, _, size = line.partition("\t")
        match = _NAME.fullmatch(name)
        number = whole_number(size)
        if match and number is not None:
            found.append(Crash(name, match["at"], match["invocation"], number))
    return tuple(sorted(found, key=lambda one: one.name))


def kept(shell: Shell) -> tuple[Crash, ...]:
    """What the host keeps. Raises Unreachable."""
    return parse_listing(shell.run(listing()).stdout)


def find(shell: Shell, invocation: str) -> Crash | None:
    """The kept journal of an invocation, which may be shortened. Raises UsageError if several begin so."""
    found = [one for one in kept(shell) if one.invocation.startswith(invocation)]
    if len(found) > 1:
        raise UsageError(f"{shell.host}: {len(found)} kept crashes begin with {invocation}", hint="give more of the invocation")
    return found[0] if found else None


def report(shell: Shell, crash: Crash, facts: Facts | None = None) -> FailureReport:
    """What triage says of a kept journal today. Raises Unreachable."""
    from ddtree_ops.report.entries import triage_bytes

    with shell.stream(("cat", "--", f"{DIRECTORY}/{crash.name}")) as stream:
        return triage_bytes(stream.chunks(), host=shell.host, facts=facts)


def report_or_none(shell: Shell, crash: Crash) -> FailureReport | None:
    """The same for a list: None for a file that can't be read, so that one doesn't hide the others. Raises Unreachable."""
    try:
        return report(shell, crash)
    except (UsageError, HostCommandFailed):
        return None
