"""What a command line of `ddtree-ops triage` asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ddtree_ops.errors import UsageError


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line; `source`: which of the sources was given."""

    host: str | None
    path: Path | None
    gateway: str | None
    stdin: bool
    inventory: Path
    unit: str | None
    since: str | None
    invocation: str | None
    source_tree: Path | None
    server_info: Path | None
    form: str

    def check(self, *, listing: bool, follow: bool) -> None:
        """Raises UsageError where options don't fit each other."""
        given = [bool(self.host), bool(self.path), bool(self.gateway), self.stdin]
        if sum(given) != 1:
            raise UsageError("give one source: --host HOST, --file FILE, --gateway URL or -")
        if self.invocation == "":
            raise UsageError("--invocation is empty", hint="ddtree-ops triage --list --host HOST shows those that are kept")
        if (listing or self.invocation) and not self.host:
            raise UsageError("--list and --invocation need --host HOST")
        if follow and not (self.host or self.stdin):
            raise UsageError("--follow needs --host HOST or -")
        if self.invocation and (self.since or follow or listing):
            raise UsageError("--invocation chooses one run: it goes with neither --since nor --follow nor --list")
        if self.since and (self.path or self.stdin):
            raise UsageError("--since needs --host HOST or --gateway URL", hint="a file is read whole")
