"""How far the audit log was read, in a form that outlives the file: a copy that was put back, or edited, has another inode."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MOST_MARKS = 16
_LENGTH = 16


@dataclass(frozen=True, slots=True)
class Position:
    """`offset` in the file `inode` (0: nothing was read), behind a line of `length` bytes.

    `marks` know the last lines again, the newest last. `newest`: the latest time of a record so far, Unix time.
    """

    inode: int = 0
    offset: int = 0
    length: int = 0
    marks: tuple[str, ...] = ()
    newest: float = 0.0

    @property
    def is_first(self) -> bool:
        """Nothing was ever read."""
        return not self.inode and not self.marks

    def behind(self, line: bytes, at: float | None) -> tuple[tuple[str, ...], float]:
        """`marks` and `newest` once this line was read, too; `at` is its record's time, if it has one that can be."""
        return (*self.marks, mark(line))[-MOST_MARKS:], max(self.newest, at or 0.0)

    def to_data(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Position:
        """Raises TypeError, ValueError, KeyError for what to_data did not give."""
        marks = data["marks"]
        if not isinstance(marks, list) or not all(isinstance(one, str) and len(one) == _LENGTH for one in marks):
            raise TypeError("no marks")
        numbers = {name: int(data[name]) for name in ("inode", "offset", "length")}
        if min(numbers.values()) < 0:
            raise ValueError("below 0")
        return cls(**numbers, marks=tuple(marks[-MOST_MARKS:]), newest=float(data["newest"]))


def mark(line: bytes) -> str:
    """What a line is known by."""
    return hashlib.sha256(line).hexdigest()[:_LENGTH]
