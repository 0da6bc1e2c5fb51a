"""Feeding the recognisers of native failures, all of them, as a run does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.blocks.collective import Collectives
from ddtree_ops.triage.blocks.collector import Collector
from ddtree_ops.triage.blocks.device_assert import DeviceAsserts
from ddtree_ops.triage.blocks.elastic import ElasticTables
from ddtree_ops.triage.blocks.native_lines import NativeLines
from ddtree_ops.triage.blocks.py_spy import PySpyDumps
from ddtree_ops.triage.blocks.terminate import Terminates
from ddtree_ops.triage.blocks.threads import ThreadDumps
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.lines import LineAssembler, read_prefix
from tests.triage.journals import plain, written

KINDS: tuple[type[Collector], ...] = (
    Terminates,
    ThreadDumps,
    PySpyDumps,
    Collectives,
    DeviceAsserts,
    ElasticTables,
    NativeLines,
)


def read(entries: Iterable[JournalEntry], kinds: Sequence[type[Collector]] = KINDS) -> list[Block]:
    """All blocks, in the order in which they are given out."""
    assembler, readers = LineAssembler(), [kind() for kind in kinds]
    found: list[Block] = []
    for entry in entries:
        for line in assembler.feed(entry):
            for reader in readers:
                found += reader.feed(line, read_prefix(line.text))
    return found + [block for reader in readers for block in reader.flush()]


def of_process(lines: Iterable[str]) -> list[Block]:
    """Of one process whose id is known."""
    return read(written([(7, line) for line in lines]))


def of_text(lines: Iterable[str]) -> list[Block]:
    """Of a log that doesn't tell processes apart."""
    return read(plain("\n".join(lines)))
