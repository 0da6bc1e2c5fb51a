"""Reading a form that has one record a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.line_stream import LineStream
from ddtree_ops.triage.forms.sieve import Item, Records, Sieve, Spelling
from ddtree_ops.triage.forms.sifter import Sifter


class LineForm(Records, Protocol):
    """How one line is read. `line_limit`: bytes; `drop_rest`: what to do with a longer one (line_stream.py)."""

    line_limit: int
    drop_rest: bool
    spelling: Spelling

    def flush(self) -> JournalEntry | None:
        """What is still held, at the end."""
        ...


def read_lines(chunks: Iterable[bytes], form: LineForm, sieve: Sieve | None) -> Iterator[Item]:
    """The entries of a stream of lines, each as soon as its line is complete."""
    stream = LineStream(form.line_limit, drop=form.drop_rest)
    sifter = Sifter(form, sieve) if sieve else None
    if sieve:
        sieve.begin(form.spelling)
    for block in _blocks(stream, chunks):
        yield from sifter.feed(block) if sifter else _each(form, block)
    if sifter:
        yield from sifter.close()
    last = form.flush()
    if last is not None:
        yield last


def _blocks(stream: LineStream, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        yield from stream.feed(chunk)
    yield from stream.close()


def _each(form: LineForm, block: bytes) -> Iterator[JournalEntry]:
    for line in block.split(b"\n")[:-1]:
        entry = form.decode(line)
        if entry is not None:
            yield entry
