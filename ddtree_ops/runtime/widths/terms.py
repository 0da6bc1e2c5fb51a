"""What a token width is made of: a setting of the spec plus a number, and the line of source that says so."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import StrEnum


class Base(StrEnum):
    """Where a width starts from."""

    BUDGET = "budget"
    BLOCK = "block_size"
    DRAFT_TOKENS = "num_draft_tokens"
    NUMBER = "number"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the tree: `file` relative to its root, `line` from 1, `code` as it stands there."""

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.code}".rstrip()


@dataclass(frozen=True, slots=True)
class Term:
    """One possible value: `base` + `offset` tokens (NUMBER: the offset itself; None: not known), and where it was read."""

    base: Base
    offset: int | None = 0
    place: Place | None = None

    def plus(self, number: int | None) -> Term:
        """The term with a number added; None: with something unknown."""
        known = self.offset is not None and number is not None
        return replace(self, offset=(self.offset or 0) + (number or 0) if known else None)

    @property
    def key(self) -> tuple[Base, int | None]:
        """What two terms of equal value share."""
        return self.base, self.offset


# A budget schedule gives narrower passes, never the widest.
_BUDGET = re.compile(r"(?i)budget(?!.*schedule)")
_DDTREE_BUDGET = re.compile(r"(?i)ddtree_?-?budget(?!.*schedule)")
_BLOCK = re.compile(r"(?i)block_?size")
_DRAFT_TOKENS = re.compile(r"(?i)num_draft_tokens")
_DFLASH_BLOCK = re.compile(r"(?i)^(?:--)?(?:speculative[_-]dflash[_-]block[_-]size|sglang_ddtree_block_size)$")


def setting(name: str) -> Base | None:
    """The spec's setting that a server argument, flag or environment variable of that name stands for, if it surely does."""
    if _DDTREE_BUDGET.search(name):
        return Base.BUDGET
    return Base.BLOCK if _DFLASH_BLOCK.search(name) else None


def likely(name: str) -> Base | None:
    """The setting that a name suggests, where nothing else tells its value."""
    for pattern, base in ((_BUDGET, Base.BUDGET), (_BLOCK, Base.BLOCK), (_DRAFT_TOKENS, Base.DRAFT_TOKENS)):
        if pattern.search(name):
            return base
    return None
