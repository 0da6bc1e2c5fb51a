"""A mistake in an inventory: where it stands, which key it is about, what is wrong with it.

Mistakes are collected, not raised one by one, so that a person mends an inventory in one round.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ddtree_ops.errors import InvalidInventory


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A position in a file; `line` and `column` count from 1."""

    path: Path
    line: int
    column: int = 1

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing to mend. `key` is a dotted path from the variable's name on, empty if the file itself is the matter."""

    place: Place
    key: str
    text: str

    def __str__(self) -> str:
        line = f"{self.place}: {self.key}: {self.text}" if self.key else f"{self.place}: {self.text}"
        return "".join(character if character.isprintable() else "?" for character in line)


def distinct(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Every mistake once, by file and line: hosts of one group repeat the mistakes of its files."""
    once = dict.fromkeys(mistakes)
    return tuple(sorted(once, key=lambda mistake: (mistake.place, mistake.key)))


def as_error(mistakes: Sequence[Mistake]) -> InvalidInventory:
    """One error for all of them: the first is the message, the others are its evidence."""
    first, *others = distinct(mistakes)
    hint = f"{len(others)} more mistakes are listed below" if len(others) > 1 else None
    if len(others) == 1:
        hint = "one more mistake is listed below"
    return InvalidInventory(str(first), hint=hint, evidence=tuple(map(str, others)))


def nearest(word: str, known: Iterable[str]) -> str:
    """A phrase `; did you mean 'x'?` to put behind a message, or nothing if no known word is near."""
    found = nearest_words(word, known, count=1)
    return f"; did you mean '{found[0]}'?" if found else ""


def nearest_words(word: str, known: Iterable[str], count: int = 3, likeness: float = 0.6) -> tuple[str, ...]:
    """The known words that look most like `word`, best first; `likeness` from 0 (anything) to 1 (the same)."""
    return tuple(difflib.get_close_matches(word, sorted(known), n=count, cutoff=likeness))
