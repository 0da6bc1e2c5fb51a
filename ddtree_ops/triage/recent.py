"""What was written last, and whether the server goes on with its work."""

from __future__ import annotations

from collections import deque

from ddtree_ops.triage.block import Block, Evidence
from ddtree_ops.triage.lines import Line, evidence, read_prefix, shortened

_KEPT = 256
_SHOWN = 8
# A child's or a library's own words can stand far above the exception: compilers print pages behind an error.
_TELLING = ("NCCL WARN ", "FAILED: ")
_ERROR = "error: "
_TELLING_SHOWN = 4

#: SGLang's scheduler (batches), uvicorn's access log, vLLM's statistics: only a server that works prints them.
LIFE_WORDS = (b"Decode batch", b"Prefill batch", b" 200 OK", b"Avg prompt throughput")
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
        self._lines.append(shortened(line))

    def before(self, block: Block) -> tuple[Evidence, ...]:
        """What the block's process wrote before the block, oldest first.

        Where only prefixes name processes, a line without one may be the block's: children's stderr has none.
        """
        number = next((item.line for item in block.evidence if item.line is not None), None)
        if number is None:
            return ()
        own = [line for line in self._lines if line.number < number and _may_be_of(line, block)]
        telling = [line for line in own[:-_SHOWN] if _is_telling(line.text)]
        return tuple(evidence(line) for line in (*telling[-_TELLING_SHOWN:], *own[-_SHOWN:]))


def _is_telling(text: str) -> bool:
    """Plain searches: it is asked of hundreds of lines for every block."""
    at = text.find(_ERROR)
    if at >= 0 and not text[max(0, at - 1) : at].isalnum():
        return True
    return text.endswith("not found") or any(word in text for word in _TELLING)


def _may_be_of(line: Line, block: Block) -> bool:
    if line.entry.pid is not None:
        return line.entry.pid == block.pid
    prefix = read_prefix(line.text)
    if prefix.pid is not None:
        return prefix.pid == block.pid
    return prefix.rank is None or block.rank is None or prefix.rank == block.rank
