"""What a signature is, and what it looks at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ddtree_ops.triage.block import Block, Frame, ParsedException
from ddtree_ops.triage.model import FailurePhase, Finding
from ddtree_ops.triage.numbers import Facts


@dataclass(frozen=True, slots=True)
class Context:
    """One block, the phase it came in, and what is known of the configuration."""

    block: Block
    phase: FailurePhase
    facts: Facts

    @property
    def ending(self) -> ParsedException:
        """The exception that ended the process; an empty one if the block has none."""
        return self.block.ending

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Its frames, outermost first."""
        return self.ending.frames

    def first(self, pattern: re.Pattern[str]) -> tuple[ParsedException, re.Match[str]] | None:
        """The first exception in printed order (the deepest cause) whose message holds the pattern."""
        for exception in self.block.exceptions:
            found = pattern.search(exception.message)
            if found:
                return exception, found
        return None

    def search(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The pattern in a message, or in the block's own text: for blocks that are no exceptions."""
        found = self.first(pattern)
        return found[1] if found else pattern.search(self.block.text)


@dataclass(frozen=True, slots=True)
class Signature:
    """One known failure (or a few that differ in what they hit). It never raises and never guesses.

    `match` looks at a block, `match_line` at one line without its prefix, `match_words` at the reason in the launcher's
    last words; each gives the finding or None. `literals`: one of them stands in every line that `match_line` knows; they
    are searched in raw bytes before anything is decoded, so plain ASCII without quotes, `<`, `>`, `&` and backslash.
    """

    match: Callable[[Context], Finding | None] | None = None
    match_line: Callable[[str], Finding | None] | None = None
    match_words: Callable[[str], Finding | None] | None = None
    literals: tuple[str, ...] = ()


def passes_through(frames: tuple[Frame, ...], *, file: str = "", functions: frozenset[str] = frozenset()) -> bool:
    """Whether a frame's file path holds `file` or its function is one of `functions`."""
    return any((file and file in frame.file) or frame.function in functions for frame in frames)
