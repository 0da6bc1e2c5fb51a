"""A log in any form, as entries."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from ddtree_ops.triage.entry import JournalEntry, from_fields
from ddtree_ops.triage.forms.export_stream import read_export
from ddtree_ops.triage.forms.json_lines import read_json


def read_log(chunks: Iterable[bytes]) -> Iterator[JournalEntry]:
    """Entries of a log; its form is told from its content."""
    source = iter(chunks)
    first = next(source, b"")
    whole = itertools.chain((first,), source)
    start = first.lstrip()
    if start.startswith(b"{"):
        return read_json(whole)
    if start.startswith((b"__", b"MESSAGE=")):
        return read_export(whole)
    return _read_text(whole)


def _read_text(chunks: Iterable[bytes]) -> Iterator[JournalEntry]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (from_fields({}, line.decode("utf-8", "replace")) for line in lines)
    if rest:
        yield from_fields({}, rest.decode("utf-8", "replace"))
