"""Reading a journal on from a place, also where that place is gone: rotated away, or lost with a reboot."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.journal.state import Place
from ddtree_ops.ports import Shell
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.export_stream import sift_export
from ddtree_ops.triage.forms.gathered import gathered
from ddtree_ops.triage.forms.sieve import Item, Sieve


def read_on(
    shell: Shell,
    argv: tuple[str, ...],
    place: Place | None,
    sieve: Callable[[], Sieve | None],
    lost: Callable[[], None] = lambda: None,
) -> Iterator[Item]:
    """What `argv`, a command of journalctl's, gives from a place on, or behind it; without a place all.

    journalctl says nothing when an entry is gone, and begins somewhere near it (sd_journal_seek_cursor(3)); so reading begins
    at the entry itself, to see whether it is there. Where it isn't, time tells where to go on, and `lost` is
    called. Raises Unreachable, HostCommandFailed.
    """
    if place is None:
        yield from _items(shell, argv, sieve())
        return
    try:
        items = _items(shell, (*argv, f"--cursor={place.cursor}"), sieve())
        first = next(items, None)
    except HostCommandFailed:  # a cursor that this journalctl doesn't take
        first = None
    if isinstance(first, JournalEntry) and first.cursor == place.cursor:
        if place.inclusive:
            yield first
        yield from items
        return
    lost()
    yield from _items(shell, (*argv, f"--since=@{place.realtime_us / 1e6:.6f}"), sieve())


def _items(shell: Shell, argv: tuple[str, ...], sieve: Sieve | None) -> Iterator[Item]:
    """The first record of a stream is never left out by a sieve, so its cursor is seen."""
    with shell.stream(argv) as stream:
        yield from sift_export(gathered(stream.chunks()), sieve)
