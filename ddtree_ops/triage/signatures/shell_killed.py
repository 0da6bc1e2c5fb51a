"""A shell's word that its child was killed: the only trace that SIGKILL leaves in such a log."""

from __future__ import annotations

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.native_lines import KILLED
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature


def match(context: Context) -> Finding | None:
    """`run.sh: line 48: 28 Killed ...`, or `Killed` alone (bash's job messages)."""
    block = context.block
    if block.origin is not Origin.LINE or not block.lines or not KILLED.match(block.lines[0].lstrip()):
        return None
    return Finding(
        kind=Kind.SIGKILL_UNKNOWN,
        title="The server was killed (SIGKILL)",
        cause="The shell that started the server says that it was killed. This log doesn't tell who did it; most often it is the"
        " kernel's OOM killer.",
        fixes=(
            "Look for the OOM killer in the kernel's log of that time (journalctl -k), and at the container's memory limit.",
            "If it isn't there: a supervisor or a person sent the signal.",
        ),
        confidence=Confidence.LOW,
    )


SIGNATURE = Signature(match)
