"""What a signature is, and what it looks at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ddtree_ops.triage.block import Block, Evidence, Frame, ParsedException
from ddtree_ops.triage.model import FailurePhase, Finding
from ddtree_ops.triage.numbers import Facts

_RIGHT_BEFORE_US = 5 * 60 * 1_000_000
_PLACES, _BEFORE, _AFTER = 4, 300, 500


@dataclass(frozen=True, slots=True)
class Context:
    """One block, the phase it came in, what is known of the configuration, and what its process wrote right before it."""

    block: Block
    phase: FailurePhase
    facts: Facts
    before: tuple[Evidence, ...] = ()

    @property
    def ending(self) -> ParsedException:
        """The exception that ended the process; an empty one if the block has none."""
        return self.block.ending

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Its frames, outermost first."""
        return self.ending.frames

    @property
    def all_frames(self) -> tuple[Frame, ...]:
        """The frames of every exception of the block, in printed order."""
        return tuple(frame for item in self.block.exceptions for frame in item.frames)

    def first(self, pattern: re.Pattern[str]) -> tuple[ParsedException, re.Match[str]] | None:
        """The first exception in printed order (the deepest cause) whose message holds the pattern."""
        for exception in self.block.exceptions:
            found = pattern.search(exception.message)
            if found:
                return exception, found
        return None

    def near(self, literal: str, pattern: re.Pattern[str]) -> tuple[ParsedException, re.Match[str]] | None:
        """As `first`, for patterns that begin with something broad: it is looked for only around the literal's first places."""
        for exception in self.block.exceptions:
            at = -1
            for _ in range(_PLACES):
                at = exception.message.find(literal, at + 1)
                if at < 0:
                    break
                found = pattern.search(exception.message[max(0, at - _BEFORE) : at + _AFTER])
                if found:
                    return exception, found
        return None

    def search(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The pattern in a message, or in the block's own text: for blocks that are no exceptions."""
        found = self.first(pattern)
        return found[1] if found else pattern.search(self.block.text)

    def printed_before(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """The pattern in a line that was written right before the block: what a child said, for one."""
        first = self.block.first_us
        near = [line for line in self.before if line.time_us is None or first is None or first - line.time_us <= _RIGHT_BEFORE_US]
        return next((found for line in near if (found := pattern.search(line.text))), None)


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
