"""What a signature looks at."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ddtree_ops.triage.model import FailurePhase, Finding, Frame, ParsedException, ParsedTraceback
from ddtree_ops.triage.numbers import Facts


@dataclass(frozen=True, slots=True)
class Context:
    """One traceback, the phase it happened in, and what is known of the configuration."""

    traceback: ParsedTraceback
    phase: FailurePhase
    facts: Facts

    @property
    def ending(self) -> ParsedException:
        """The exception that ended the process."""
        return self.traceback.ending

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Its frames, outermost first."""
        return self.ending.frames

    def first(self, pattern: re.Pattern[str]) -> tuple[ParsedException, re.Match[str]] | None:
        """The first exception in printed order (the deepest cause) whose message holds the pattern."""
        for exception in self.traceback.exceptions:
            found = pattern.search(exception.message)
            if found:
                return exception, found
        return None


#: A signature: the finding, or None if this failure is something else. It never raises and never guesses.
Signature = Callable[[Context], Finding | None]


def passes_through(frames: tuple[Frame, ...], *, file: str = "", functions: frozenset[str] = frozenset()) -> bool:
    """Whether a frame's file path holds `file` or its function is one of `functions`."""
    return any((file and file in frame.file) or frame.function in functions for frame in frames)
