"""Log records that tell nothing once, but do when nothing else comes: health checks that fail, answers that are no words.

They are given out at the end only: whether the server went on after the last of them decides what they mean.

- `Health check failed. Server couldn't get a response from detokenizer for last 20 seconds`: SGLang,
  srt/entrypoints/http_server.py; a long prefill makes one fail.
- `Finish: obj=..., out={'text': '!!!!!!!!`: SGLang with --log-requests; `Generated response ...: output: '!!!!!!!!`: vLLM with
  --enable-log-outputs. `!` is token 0 of most vocabularies, which is what sampling NaN gives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.lines import Line, Prefix, line_block

HEALTH = re.compile(
    r"Health check failed\. Server couldn't get a response from detokenizer for last (?P<seconds>\d{1,6}) seconds"
)
NO_WORDS = re.compile(r"(?:Finish: obj=|Generated response )")

_HEALTH, _BANGS = "Health check failed", "!" * 16
_ANSWER = re.compile(r"(?:'text': |[,:] output: )['\"](?P<text>!{16,})")
_SAID = 400  # characters of an answer's line that are kept around the answer
_LEAST = 3


class RepeatedLines:
    """Counts them; one block a sort, if it came often enough."""

    literals: ClassVar[tuple[str, ...]] = (_HEALTH, _BANGS)

    def __init__(self) -> None:
        self._found: dict[str, Block] = {}

    @property
    def busy(self) -> bool:
        """Never: each line stands for itself."""
        return False

    def feed(self, line: Line, prefix: Prefix) -> Sequence[Block]:
        """Take one line; of log records only, anything else may be quoted."""
        text = prefix.rest
        if _HEALTH not in text and _BANGS not in text:
            return ()
        if not prefix.stamp:
            return ()
        if prefix.dated and HEALTH.match(text):
            self._count("health", line, text)
        elif NO_WORDS.match(text) and (answer := _ANSWER.search(text)):
            self._count("answer", line, f"{text[:20]} ... {text[max(0, answer.start()) : answer.start() + _SAID]}")
        return ()

    def settle(self) -> Sequence[Block]:
        """Nothing: the end isn't there yet."""
        return ()

    def flush(self) -> Sequence[Block]:
        """Each sort that came often, with its first and its latest line."""
        found, self._found = self._found, {}
        return [block for block in found.values() if block.times >= _LEAST]

    def _count(self, sort: str, line: Line, text: str) -> None:
        new, known = line_block(line, text), self._found.get(sort)
        if known is None:
            self._found[sort] = replace(new, rank=None, record=True)
            return
        self._found[sort] = replace(
            known,
            times=known.times + 1,
            evidence=(known.evidence[0], *new.evidence),
            last_us=new.last_us,
        )
