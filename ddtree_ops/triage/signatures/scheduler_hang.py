"""A rank made no forward step in time, without an error: SGLang's watchdog or its health checks say so, or vLLM's executor."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin, Thread
from ddtree_ops.triage.blocks.native_lines import HANG
from ddtree_ops.triage.blocks.repeated import HEALTH
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.nccl_init_hang import init_hang

_COLLECTIVE = re.compile(r"all_?reduce|all_?gather|broadcast|barrier|nccl|gloo|recv_requests|waitRecv", re.IGNORECASE)
_MAIN = "MainThread"
_TOLD = 4
_SOFT = re.compile(r"self\.soft=True")

# vLLM 0.10 and later, v1/executor/multiproc_executor.py; VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS
_RPC = re.compile(r"RPC call to (?P<method>execute_model|sample_tokens) timed out")

_FIXES = (
    "Compare where all ranks stood (py-spy, if it was installed): the one that isn't in a collective is the one that hangs.",
    "If all GPUs show 100% and little power: a kernel deadlocked; try another MoE, attention or all-reduce back-end"
    " (--moe-runner-backend, --disable-custom-all-reduce).",
    "Only if the step was merely slow: raise --watchdog-timeout.",
)


def match(context: Context) -> Finding | None:
    """Of the watchdogs the hard one only: the soft one reports and goes on."""
    call = context.first(_RPC)
    if call:
        return _worker(call[1]["method"])
    if context.block.origin is not Origin.LINE:
        return None
    health = HEALTH.match(context.block.text)
    if health:
        return _health(context.block.times, int(health["seconds"]))
    found = HANG.search(context.block.text)
    if found is None or _SOFT.search(context.block.text):
        return None
    if context.phase is FailurePhase.DISTRIBUTED_INIT:
        return init_hang("No step ended in time while the ranks connected.")
    stood = _stood(context.block.threads)
    return Finding(
        kind=Kind.SCHEDULER_HANG,
        title=f"The {(found['who'] or 'scheduler').strip().lower()} hangs",
        cause=f"No step ended within {float(found['seconds']):g} s, and no error was printed.{stood}",
        fixes=_FIXES,
        confidence=Confidence.LIKELY,
    )


def _worker(method: str) -> Finding:
    return Finding(
        kind=Kind.SCHEDULER_HANG,
        title="A worker hangs",
        cause=f"A worker didn't come back from {method} in time, and printed no error of its own.",
        fixes=(
            "Look where each worker stands (py-spy dump --pid): the one that isn't in a collective is the one that hangs.",
            "If all GPUs show 100% and little power: a kernel deadlocked; try --disable-custom-all-reduce or --enforce-eager.",
            "Only if the step was merely slow (a first compilation): raise VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS.",
        ),
        confidence=Confidence.LIKELY,
    )


def _health(times: int, seconds: int) -> Finding:
    return Finding(
        kind=Kind.SCHEDULER_HANG,
        title="The server answers no health check any more",
        cause=f"{times} health checks in the log got nothing from the scheduler within {seconds} s each, and no work was done"
        " behind the last of them.",
        fixes=(*_FIXES[:2], "Look at the ranks' processes: one may have died without a word (journalctl -k)."),
        confidence=Confidence.LIKELY,
    )


def _stood(threads: tuple[Thread, ...]) -> str:
    """Where the main threads stood: the rank's own, and others' that don't wait in a collective."""
    found = ""
    for thread in threads:
        who, _, name = (thread.name or "").rpartition(": ")
        place = next((frame for frame in reversed(thread.frames) if frame.line is not None), None)
        if name != _MAIN or place is None:
            continue
        waits = _COLLECTIVE.search(place.function or "") is not None
        if who and waits:
            continue
        subject = f"The main thread of {who}" if who else "Its main thread"
        found += f" {subject} stood in {place.function} ({place.file}:{place.line})."
        found += " It waits for another rank there." if waits else ""
        if found.count(" stood in ") == _TOLD:
            break
    return found


SIGNATURE = Signature(match)
