"""Which lines are the kernel's, and what they say without a header."""

from __future__ import annotations

import re

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.lines import Line, Prefix

KERNEL = "kernel"
#: Of a line; the kernel itself prints at most 1024 characters at once.
LENGTH = 4096

# dmesg(1), syslog and journalctl's short forms, for text that came without a form of its own
_HEADER = re.compile(
    r"(?:(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}(?:\.\d{1,6})?|\d{4}-\d\d-\d\d[T ][\d:]{8}[\d.,:+Z-]{0,20}) )?"
    r"(?:(?:[^\s:\[\]]{1,253} )?kernel: ?)?(?:\[ {0,10}\d{1,10}\.\d{1,9}\] ?)?"
)


def kernel_words(line: Line, prefix: Prefix) -> str | None:
    """The kernel's own words in a line; None if somebody else wrote it. Bare text may be anybody's: shapes decide then."""
    if prefix.dated or line.progress or not may_be_kernel(line.entry):
        return None
    text = line.text[:LENGTH]
    found = _HEADER.match(text)
    return text[found.end() :] if found else text


def may_be_kernel(entry: JournalEntry) -> bool:
    """Whether the kernel may have written it: nobody else is known to have."""
    return KERNEL in (entry.transport, entry.comm) or (entry.pid is None and entry.transport is None)
