"""What was written last, and whether the server goes on with its work."""

from __future__ import annotations

from collections import deque

from ddtree_ops.triage.block import Block, Evidence
from ddtree_ops.triage.lines import Line, evidence

_KEPT = 256
_SHOWN = 8
_LONG = 4000  # characters; of a longer line the beginning is kept

#: SGLang's scheduler (batches) and uvicorn's access log: only a server that works prints them.
LIFE_WORDS = (b"Decode batch", b"Prefill batch", b" 200 OK")
_LIFE = tuple(word.decode() for word in LIFE_WORDS)


def signs_life(text: str) -> bool:
    """Whether a line, without its prefix, is one that only a working server prints."""
    return any(word in text for word in _LIFE)


class Recent:
    """The last lines of a run."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque(maxlen=_KEPT)

    def add(self, line: Line) -> None:
        """Keep a line; bars and empty ones tell nothing."""
        if line.progress or not line.text or line.text.isspace():
            return
        if len(line.entry.message) > _LONG:
            line = line._replace(text=line.text[:_LONG], entry=line.entry._replace(message=""))
        self._lines.append(line)

    def before(self, block: Block) -> tuple[Evidence, ...]:
        """What the block's process wrote before the block, oldest first."""
        number = next((item.line for item in block.evidence if item.line is not None), None)
        if number is None:
            return ()
        own = [line for line in self._lines if line.entry.pid == block.pid and line.number < number]
        return tuple(evidence(line) for line in own[-_SHOWN:])
