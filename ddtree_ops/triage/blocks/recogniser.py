"""What every recogniser of blocks has in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.lines import Line, Prefix

#: A block's lines come within microseconds of each other, chained ones too. What comes later is something else.
SETTLE_US = 250_000


class Recogniser(Protocol):
    """Collects the lines of one sort of block, for all processes of a run at once, and gives out the blocks.

    It holds a bounded amount of text whatever comes, never raises, and takes time proportional to the line.
    """

    #: One of these stands in every line that begins such a block; they are searched in raw bytes before anything is
    #: decoded (gate.py), so: plain ASCII, no quotes, no `<`, `>`, `&`, no backslash, as rare in healthy logs as possible.
    literals: ClassVar[tuple[str, ...]]

    @property
    def busy(self) -> bool:
        """Whether a block is being read: the following lines are needed too."""
        ...

    def feed(self, line: Line, prefix: Prefix) -> Sequence[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it); give the blocks that became complete."""
        ...

    def settle(self) -> Sequence[Block]:
        """Give out what may be complete: something else shows that its process is done writing."""
        ...

    def flush(self) -> Sequence[Block]:
        """Give out everything, at the end of the log; what lacks its end is marked incomplete."""
        ...
