"""The launcher's last words: why it ended a run, or wouldn't begin it, in one line of its own.

A line of it stands alone in its journal entry, without a date (sglang_ddtree/launcher.py, `_say`). What else begins like
that may be a prompt that the server printed: log records are dated, and what a process writes that also writes dated
records is the server's, whatever it looks like.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ddtree_ops.triage.block import Evidence
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.lines import Line, evidence
from ddtree_ops.triage.model import Failure

MARK = "ddtree launcher: "
_WORDS = re.compile(re.escape(MARK) + r"(?:(?P<how>refused|crashed|stalled): )?(?P<reason>.*?)(?: \(exit \d{1,9}\))?$")


@dataclass(frozen=True, slots=True)
class LastWords:
    """`how`: refused, crashed or stalled, empty if it didn't say; `reason`: what follows; `evidence`: the line."""

    how: str
    reason: str
    evidence: Evidence

    @property
    def text(self) -> str:
        """The words without their frame: `refused: credential api_key: is empty`."""
        return f"{self.how}: {self.reason}"


def read_last_words(line: Line) -> LastWords | None:
    """The words in an undated line of the launcher, or None. The caller knows which processes aren't the launcher."""
    if not line.text.startswith(MARK) or not line.entry.message.startswith(MARK):
        return None
    found = _WORDS.match(line.text.rstrip())
    return LastWords(found["how"] or "", found["reason"], evidence(line)) if found else None


def says_why(failure: Failure) -> bool:
    """Whether the log says why: a known kind, a cause, an exception, or the launcher's words. Else the title tells only that
    it died."""
    known = failure.kind is not Kind.UNKNOWN or failure.cause is not None or bool(failure.exceptions)
    return known or any(item.text.startswith(MARK) for item in failure.evidence)
