"""The kernel's OOM killer: from "invoked oom-killer" over its table to the process that it killed (mm/oom_kill.c)."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.blocks.kernel_draft import KernelDraft
from ddtree_ops.triage.lines import Line

_INVOKED = re.compile(r".{1,64}? invoked oom-killer: ")
_USAGE = re.compile(r"(?:memory|swap): usage \d{1,20}kB, limit \d{1,20}kB")
_CHOSEN = re.compile(
    r"oom-kill:constraint=.{0,4000}?\btask=(?P<name>.{0,64}?),pid=(?P<pid>\d{1,10})|(?:Out of memory"
    r"|Memory cgroup out of memory): Kill process (?P<old>\d{1,10}) \((?P<old_name>.{0,64}?)\)"
)
#: How a kill is told, of Linux 4.4 and later.
KILLED = re.compile(
    r"(?P<scope>Out of memory(?: \([a-z_]{1,40}\))?: |Memory cgroup out of memory: )?Killed process (?P<pid>\d{1,10})"
    r"(?:, UID \d{1,10},)? ?\((?P<name>.{0,64}?)\),? (?:UID \d{1,10} )?total-vm:"
)
_LINES_LIMIT = 12


class OomKill:
    """Kills while their lines arrive; of the tables between them only what was used and allowed is kept."""

    def __init__(self) -> None:
        self._draft = KernelDraft()
        self._victim: int | None = None
        self._name: str | None = None

    def take(self, words: str, line: Line) -> list[Block]:
        """Take a line of the kernel's; the kill that it completes."""
        found = KILLED.match(words)
        if found:
            self._victim, self._name = int(found["pid"]), found["name"]
            self._keep(words, line)
            return self.flush()
        done: list[Block] = []
        chosen = _CHOSEN.match(words)
        if chosen:
            self._victim, self._name = int(chosen["pid"] or chosen["old"]), chosen["name"] or chosen["old_name"]
            self._keep(words, line)
        elif _INVOKED.match(words):
            done = self.flush()
            self._keep(words, line)
        elif self._draft.lines and _USAGE.match(words):
            self._keep(words, line)
        return done

    def flush(self) -> list[Block]:
        """The kill as far as it was told, if it says at least who was chosen."""
        draft, victim, name = self._draft, self._victim, self._name
        self._draft, self._victim, self._name = KernelDraft(), None, None
        if victim is None:
            return []
        return [draft.block(subjects=(victim,), name=name)]

    def _keep(self, words: str, line: Line) -> None:
        if len(self._draft.lines) < _LINES_LIMIT:
            self._draft.keep(words, line)
