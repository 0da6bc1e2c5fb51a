"""torchrun's last word: which rank failed first, and how it ended."""

from __future__ import annotations

import signal

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.elastic import FailedRank, read_line, read_table
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_CORE = ("Look at the core dump: coredumpctl gdb, then bt.",)
_KILLED = (
    "Look for the OOM killer in the kernel's log of that time (journalctl -k).",
    "If it isn't there: somebody, or a supervisor, sent the signal.",
)


def match(context: Context) -> Finding | None:
    """A signal that nobody handles explains itself; an exit code is the end of an error that the rank printed."""
    ranks = _ranks(context)
    first = next((rank for rank in ranks if rank.first), None)
    if first is None:
        return None
    if first.code == -signal.SIGKILL:
        kind = Kind.PEER_RANK_KILLED if len(ranks) > 1 or first.rank else Kind.SIGKILL_UNKNOWN
        return _finding(kind, first, "was killed (SIGKILL)", "It had no chance to say why.", _KILLED)
    if first.code in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGILL):
        name = signal.Signals(-first.code).name
        return _finding(Kind.NATIVE_SEGFAULT, first, f"crashed in native code ({name})", "It left no traceback.", _CORE)
    how = f"signal {-first.code}" if first.code < 0 else f"exit code {first.code}"
    fixes = (f"Read what rank {first.rank} printed; torchrun --tee 3 keeps the ranks' output.",)
    return _finding(Kind.PEER_RANK_FAILED, first, f"failed ({how})", "Its own error is the cause.", fixes)


def _ranks(context: Context) -> tuple[FailedRank, ...]:
    """Of the exception's table, which a quoted traceback may have cut off, and of the block's own lines."""
    block = context.block
    raised = [item.message for item in block.exceptions if item.type.endswith("ChildFailedError")]
    if not raised and (block.exceptions or block.origin is not Origin.ELASTIC):
        return ()
    texts = [*raised, block.text]
    tables = [rank for text in texts for rank in read_table(text)]
    lines = [rank for text in texts for line in text.splitlines() if (rank := read_line(line))]
    return tuple(dict.fromkeys((*tables, *lines)))


def _finding(kind: Kind, rank: FailedRank, what: str, more: str, fixes: tuple[str, ...]) -> Finding:
    return Finding(
        kind=kind,
        title=f"Rank {rank.rank} {what}",
        cause=f"By torchrun, rank {rank.rank} (process {rank.pid}) was the first to end: it {what}. {more}",
        fixes=fixes,
        confidence=Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
