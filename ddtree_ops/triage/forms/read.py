"""A log in any form, as entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ddtree_ops.triage.entry import JournalEntry, unreadable
from ddtree_ops.triage.forms.compressed import Unpacked
from ddtree_ops.triage.forms.detect import FormName, detect
from ddtree_ops.triage.forms.export_stream import sift_export
from ddtree_ops.triage.forms.json_lines import JsonLines
from ddtree_ops.triage.forms.json_pretty import JsonPretty
from ddtree_ops.triage.forms.line_reader import LineForm, read_lines
from ddtree_ops.triage.forms.sieve import Item, Sieve
from ddtree_ops.triage.forms.text_lines import TextLines
from ddtree_ops.triage.forms.verbose import Verbose


def read_log(chunks: Iterable[bytes], now_us: int | None = None) -> Iterator[JournalEntry]:
    """Entries of a log; its form is told from its content, and it may be packed (gzip, zstd).

    `now_us`: lines without a year in their time (`Apr 02 03:04:05`) get the newest year that isn't in the future; without
    it they have no time but their order (`monotonic_us`, since the year began). Raises UsageError where nothing at all
    can be read: packed data that is broken from its beginning.
    """
    for item in sift_log(chunks, None, now_us):
        if isinstance(item, JournalEntry):
            yield item


def sift_log(chunks: Iterable[bytes], sieve: Sieve | None, now_us: int | None = None) -> Iterator[Item]:
    """The same through a sieve, which says what may be left out (sieve.py)."""
    source = Unpacked(chunks)
    name, whole = detect(iter(source))
    last: JournalEntry | None = None
    for item in sift_export(whole, sieve) if name is FormName.EXPORT else read_lines(whole, _form(name, now_us), sieve):
        if isinstance(item, JournalEntry):
            last = item
        yield item
    if source.lost:
        yield unreadable(source.lost, last)


def _form(name: FormName, now_us: int | None) -> LineForm:
    match name:
        case FormName.JSON:
            return JsonLines()
        case FormName.JSON_PRETTY:
            return JsonPretty()
        case FormName.VERBOSE:
            return Verbose()
        case _:
            return TextLines(now_us)
