"""Blocks of a few lines, as the recogniser of tracebacks reads them."""

from __future__ import annotations

from collections.abc import Sequence

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.blocks.tracebacks import Tracebacks
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.lines import LineAssembler, read_prefix
from tests.triage.journals import plain, written


def read(entries: Sequence[JournalEntry], *, end: bool = True) -> list[Block]:
    """All blocks; without `end` only those that were given out by themselves."""
    assembler, reader = LineAssembler(), Tracebacks()
    found: list[Block] = []
    for entry in entries:
        for line in assembler.feed(entry):
            found += reader.feed(line, read_prefix(line.text))
    return found + (reader.flush() if end else [])


def one(lines: Sequence[str]) -> Block:
    """The only block of what one process wrote."""
    (found,) = read(written([(7, line) for line in lines]))
    return found


def from_text(text: str) -> list[Block]:
    """The blocks of a text file; a margin of this source file is taken away."""
    return read(plain(text))


def traceback_of(name: str, head: str = "Traceback (most recent call last):") -> list[str]:
    """A traceback with one frame."""
    file = f'  File "/opt/sgl/python/sglang/srt/{name}.py", line 3, in run'
    return [head, file, f"    {name}(x)", "    ~~^^^", f"ValueError: {name}"]
