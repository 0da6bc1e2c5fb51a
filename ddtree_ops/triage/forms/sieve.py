"""Leaving out what can't matter, while it is still bytes.

A log's bytes are cut into records (lines, or entries of the export format). With a sieve, a record is decoded if the
sieve finds something in it, if the sieve wants whatever comes, or if the form itself needs it; the others are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ddtree_ops.triage.entry import JournalEntry


class Skipped(NamedTuple):
    """This number of records were left out."""

    number: int


Item = JournalEntry | Skipped


class Spelling(NamedTuple):
    """How a form writes what a sieve looks for: regular expressions (RE2's) over the bytes of one record.

    `always`: of records that need to be decoded whatever they say. `pid`: of the records of a process. `unheard`: given
    the numbers of some processes, of a dated record of any other one; with True, of one that has a rank in its prefix.
    None: the form names no processes. `escape`: the terminal's ESC. `units`: byte strings, not expressions, that stand in
    a record that names a unit; with a name, in one that names this one.
    """

    always: tuple[bytes, ...] = ()
    pid: Callable[[int], bytes] | None = None
    unheard: Callable[[frozenset[int], bool], bytes] | None = None
    escape: bytes = rb"\x1b"
    units: Callable[[str | None], tuple[bytes, ...]] | None = None


class Sieve(Protocol):
    """Says which records are wanted; it is asked again after each entry that it let pass."""

    def begin(self, spelling: Spelling) -> None:
        """Told once, before anything is asked."""
        ...

    @property
    def attentive(self) -> bool:
        """Whether the next record is wanted, whatever it says."""
        ...

    def find(self, data: bytes, start: int) -> int:
        """The place of a byte of the first record from `start` on that is wanted, or -1."""
        ...

    def context(self, left_out: int) -> int:
        """How many of the records right before a found one are wanted too; at most `left_out` bytes of them are there."""
        ...

    def counted(self, number: int, data: bytes, start: int, end: int) -> int:
        """How many of the `number` records in these bytes, all left out, count."""
        ...

    def last(self, data: bytes) -> int:
        """The place of a byte of the last record that counts, of those that were left out at the end; or -1."""
        ...


class OddRecordError(Exception):
    """A record that can't be read as a whole: where it ends is not known."""


class Records(Protocol):
    """What a sifter needs to know of a form."""

    separator: bytes

    @property
    def holds(self) -> bool:
        """Whether the next record is needed."""
        ...

    def decode(self, record: bytes) -> JournalEntry | None:
        """The entry of a record (without its separator). Raises OddRecordError."""
        ...

    def recall(self, data: bytes, before: int) -> None:
        """Records were left out; the next one to decode begins at `before`."""
        ...

    def count(self, data: bytes, start: int, end: int) -> int:
        """The number of entries in these records."""
        ...


class WholeForm:
    """What a form of lines says of which none can be left out."""

    separator = b"\n"
    spelling = Spelling()
    holds = True

    def recall(self, *_: object) -> None:
        """Nothing is left out."""

    def count(self, *_: object) -> int:
        """Nothing is left out."""
        return 0
