"""The prefix cache, as far as its hits show in logs, answers and metrics."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

_KEPT = 64  # prompts


class RadixCache:
    """Remembers the last prompts. A hit is a common beginning; the last token of a prompt is always computed."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._prompts: deque[tuple[int, ...]] = deque(maxlen=_KEPT)

    def match_and_insert(self, prompt: Sequence[int]) -> int:
        """Number of tokens of this prompt that need no computing."""
        if not self._enabled:
            return 0
        longest = max((_common(known, prompt) for known in self._prompts), default=0)
        self._prompts.append(tuple(prompt))
        return min(longest, len(prompt) - 1)

    def reset(self) -> None:
        """Forget everything."""
        self._prompts.clear()


def _common(first: Sequence[int], second: Sequence[int]) -> int:
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length
