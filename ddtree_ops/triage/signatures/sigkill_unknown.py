"""A parent found its child ended by SIGKILL, and nothing says by whom; the kernel's log would, if it was the OOM killer."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_RAISED = re.compile(r"died with <Signals\.SIGKILL: 9>|terminated with signal SIGKILL|returned non-zero exit status (?:-9|137)\b")


_FINDING = Finding(
    Kind.SIGKILL_UNKNOWN,
    "A child process was killed from outside",
    "A child process was ended by SIGKILL, which no program does to itself by accident: most often the OOM killer, a container's"
    " memory limit, or an operator.",
    ("Look into the kernel's log of that time: journalctl -k | grep -i -e oom -e killed.",),
    Confidence.LOW,
)


def match(context: Context) -> Finding | None:
    """A parent that waited for it says how it ended."""
    return _FINDING if context.first(_RAISED) else None


SIGNATURE = Signature(match)
