"""SGLang's watchdog: a rank made no forward step in time, without an error."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Frame, Origin, Thread
from ddtree_ops.triage.blocks.native_lines import HANG
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.nccl_init_hang import init_hang

_COLLECTIVE = re.compile(r"all_?reduce|all_?gather|broadcast|barrier|nccl|gloo|recv_requests|waitRecv", re.IGNORECASE)
_SOFT = re.compile(r"self\.soft=True")

_FIXES = (
    "Compare where all ranks stood (py-spy, if it was installed): the one that isn't in a collective is the one that hangs.",
    "If all GPUs show 100% and little power: a kernel deadlocked; try another MoE, attention or all-reduce back-end"
    " (--moe-runner-backend, --disable-custom-all-reduce).",
    "Only if the step was merely slow: raise --watchdog-timeout.",
)


def match(context: Context) -> Finding | None:
    """The hard watchdog only: the soft one reports and goes on."""
    if context.block.origin is not Origin.LINE:
        return None
    found = HANG.search(context.block.text)
    if found is None or _SOFT.search(context.block.text):
        return None
    if context.phase is FailurePhase.DISTRIBUTED_INIT:
        return init_hang("No step ended in time while the ranks connected.")
    place = _place(context.block.threads)
    stood = f" Its main thread stood in {place.function} ({place.file}:{place.line})." if place else ""
    waits = place is not None and _COLLECTIVE.search(place.function or "") is not None
    hint = " It waits for another rank there." if waits else ""
    return Finding(
        kind=Kind.SCHEDULER_HANG,
        title=f"The {(found['who'] or 'scheduler').strip().lower()} hangs",
        cause=f"No step ended within {float(found['seconds']):g} s, and no error was printed.{stood}{hint}",
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


def _place(threads: tuple[Thread, ...]) -> Frame | None:
    main = next((item for item in threads if item.name == "MainThread"), None)
    frames = [frame for frame in (main.frames if main else ()) if frame.line is not None]
    return frames[-1] if frames else None


SIGNATURE = Signature(match)
