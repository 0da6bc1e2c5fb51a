"""One failure is printed in several pieces by one process: they become one observation, before anything is judged.

A cause that native code tells first (assertion lines of a kernel, NCCL's warnings, a watchdog's log, a handler's marker)
joins the exception that follows from it; the dump that faulthandler adds to an abort joins the exception that aborted.
What finds no partner stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ddtree_ops.triage.block import Block, Evidence, Origin, Thread
from ddtree_ops.triage.blocks.native_lines import CORRUPTION, HANG, SIGNALLED
from ddtree_ops.triage.run import Observation

_EVIDENCE_LIMIT = 8
_EXCEPTION_LIMIT = 8
_THREAD_LIMIT = 256
_MESSAGE_LIMIT = 2000  # of each
_NEAR_US = 5 * 60 * 1_000_000  # PyTorch waits a minute or two for its debug dump before it aborts
_PRECURSORS = (Origin.COLLECTIVE, Origin.DEVICE_ASSERT, Origin.LINE, Origin.THREADS, Origin.ELASTIC)
_ABORTED = ("Fatal Python error: Aborted", "Fatal Python error: Segmentation fault")
_NUMBER = re.compile(r"\d+")

_OF_COLLECTIVES = re.compile(r"NCCL|nccl|DistBackendError|[Mm]onitored_?[Bb]arrier|gloo|ranks that didn't finish|[Ww]atchdog")
_OF_CUDA = re.compile(r"CUDA|cuda|AcceleratorError|device-side assert|NVIDIA|No accelerator|error code ")


@dataclass(slots=True, eq=False)
class _Told:
    """An observation, and the beginnings of what its exceptions say."""

    seen: Observation
    words: str

    @property
    def block(self) -> Block:
        return self.seen.block


def fold(observations: Sequence[Observation]) -> list[Observation]:
    """The observations of a run in their order, pieces of one failure joined at the place of the exception."""
    kept: list[_Told] = []
    for item in observations:
        told = _Told(item, _words(item.block))
        if item.finding is not None or not _join(kept, told):
            kept.append(told)
    return [told.seen for told in kept]


def is_piece(block: Block) -> bool:
    """Whether a block is no failure by itself: unless a signature knows it, a warning or a dump of a process that lives."""
    return not block.exceptions and block.origin in _PRECURSORS


def _words(block: Block) -> str:
    return "\n".join(f"{item.type}: {item.message[:_MESSAGE_LIMIT]}" for item in block.exceptions[:_EXCEPTION_LIMIT])


def _join(kept: list[_Told], item: _Told) -> bool:
    """Join an observation with those before it; True if it became a part of one of them, or took them in."""
    near = [one for one in kept if one.seen.finding is None and _same_process(one.seen, item.seen) and _is_near(one, item)]
    if _is_aftermath(item.block):
        aborted = next((one for one in reversed(near) if one.block.origin is Origin.TERMINATE), None)
        if aborted:
            aborted.seen = _with(aborted.seen, item.seen, after=True)
            return True
    before = [one for one in near if is_piece(one.block) and _leads_to(one, item)]
    for one in before:
        kept.remove(one)
        item.seen = _with(item.seen, one.seen, after=False)
    if before:
        kept.append(item)
        return True
    whole = next((one for one in reversed(near) if is_piece(item.block) and _leads_to(item, one)), None)
    if whole:
        whole.seen = _with(whole.seen, item.seen, after=True)
        return True
    return _is_dump(item.block) and _adopted(kept, item)


def _adopted(kept: list[_Told], dump: _Told) -> bool:
    """SGLang's watchdog dumps every process when one of them hangs: where the others stand tells which one it is."""
    hang = next((one for one in reversed(kept) if _is_hang(one.block) and _is_near(one, dump)), None)
    if hang is None:
        return False
    rank = dump.seen.process.rank or (f"process {dump.block.subjects[0]}" if dump.block.subjects else None)
    threads = (*hang.block.threads, *labelled(dump.block.threads, rank))[:_THREAD_LIMIT]
    lines = _some(hang.block.evidence, dump.block.evidence)
    hang.seen = replace(hang.seen, block=replace(hang.block, threads=threads, evidence=lines))
    return True


def labelled(threads: tuple[Thread, ...], rank: str | None) -> tuple[Thread, ...]:
    """Threads with their process before their name, unless it is there already."""
    if rank is None:
        return threads
    return tuple(
        one if (one.name or "").startswith(f"{rank}: ") else replace(one, name=f"{rank}: {one.name or one.id}") for one in threads
    )


def _is_dump(block: Block) -> bool:
    return block.origin is Origin.THREADS and not block.exceptions


def _is_hang(block: Block) -> bool:
    return block.origin is Origin.LINE and bool(HANG.search(block.text))


def _is_aftermath(block: Block) -> bool:
    """Whether it is what faulthandler adds to the abort that follows an uncaught C++ exception."""
    return block.origin is Origin.THREADS and block.ending.type in _ABORTED


def _leads_to(piece: _Told, whole: _Told) -> bool:
    """Whether `piece`, which has no exception, belongs to the failure that `whole` tells."""
    origin, other, words = piece.block.origin, whole.block, whole.words
    if origin is Origin.THREADS:
        return _is_hang(other) and not other.threads
    if origin is Origin.ELASTIC:
        return any(item.type.endswith("ChildFailedError") for item in other.exceptions)
    if origin is Origin.COLLECTIVE:
        if not words:
            return other.origin is Origin.COLLECTIVE and _same_event(piece.block, other)
        return bool(_OF_COLLECTIVES.search(words))
    if origin is Origin.DEVICE_ASSERT:
        return other.origin is Origin.DEVICE_ASSERT or bool(_OF_CUDA.search(words))
    return _line_leads_to(piece.block.text, other, words)


def _line_leads_to(text: str, whole: Block, words: str) -> bool:
    if HANG.search(text):
        return False
    if SIGNALLED.search(text) or CORRUPTION.search(text):
        crashed = whole.origin is Origin.THREADS and words.startswith("Fatal Python error: ")
        return crashed or (whole.origin is Origin.LINE and bool(SIGNALLED.search(text)) and bool(SIGNALLED.search(whole.text)))
    return bool(words and _OF_CUDA.search(words))


def _same_event(piece: Block, whole: Block) -> bool:
    """NCCL's warnings are one story; a watchdog prints its timeout several times."""
    return ("NCCL WARN" in piece.text) == ("NCCL WARN" in whole.text)


def _is_near(one: _Told, other: _Told) -> bool:
    """In time, where it is known: a warning at the start has nothing to do with a crash an hour later."""
    ended, began = one.block.last_us, other.block.first_us
    return ended is None or began is None or began - ended <= _NEAR_US


def _same_process(one: Observation, other: Observation) -> bool:
    """By process id where both have one; else by the last number of the rank; else nothing speaks against it."""
    mine, theirs = one.process, other.process
    if mine.pid is not None and theirs.pid is not None:
        return mine.pid == theirs.pid
    if mine.rank and theirs.rank:
        return _NUMBER.findall(mine.rank)[-1:] == _NUMBER.findall(theirs.rank)[-1:]
    return True


def _with(whole: Observation, piece: Observation, *, after: bool) -> Observation:
    mine, other = whole.block, piece.block
    pair = (mine, other) if after else (other, mine)
    times = [at for block in pair for at in (block.first_us, block.last_us) if at is not None]
    process = whole.process
    if process.rank is None and piece.process.rank and process.pid is None:
        process = replace(process, rank=piece.process.rank)
    block = replace(
        mine,
        evidence=_some(pair[0].evidence, pair[1].evidence),
        lines=(*pair[0].lines, *pair[1].lines)[:400],
        threads=mine.threads or other.threads,
        subjects=tuple(dict.fromkeys((*mine.subjects, *other.subjects))),
        first_us=min(times, default=None),
        last_us=max(times, default=None),
    )
    return replace(whole, block=block, process=process)


def _some(first: tuple[Evidence, ...], second: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    """Of both, if they are too many: what comes first in each tells most."""
    share = max(_EVIDENCE_LIMIT - len(second), _EVIDENCE_LIMIT // 2)
    kept = first[:share]
    return (*kept, *second[: _EVIDENCE_LIMIT - len(kept)])
