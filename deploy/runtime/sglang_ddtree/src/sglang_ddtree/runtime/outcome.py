"""What became of a step's requests on the CPU: tokens appended, stop conditions met inside an accepted path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """Per request: `commit_lens`, tokens appended, which is also how many verified nodes keep their KV (the last committed token
    and the accepted drafts before the newest token); `last_tokens`, the newest token, whose KV comes with the next step."""

    commit_lens: tuple[int, ...]
    last_tokens: tuple[int, ...]

    @property
    def total(self) -> int:
        """Tokens appended over all requests."""
        return sum(self.commit_lens)


def append_accepted(reqs: Sequence[Any], paths: Sequence[Sequence[int]], block_size: int) -> Outcome:
    """Append the accepted tokens to each request until it finishes, and account for its KV.

    `paths` are rows of `walk_trees`. `reqs` are SGLang's Req.
    """
    counts: list[int] = []
    for req, row in zip(reqs, paths, strict=True):
        tokens = row[1 + block_size : 2 + block_size + row[0]]
        count = _append(req, tokens)
        req.kv_committed_len += count
        req.kv_allocated_len = req.kv_committed_len
        req.spec_verify_ct += 1
        req.spec_num_correct_drafts += count - 1
        counts.append(count)
    return Outcome(tuple(counts), tuple(int(req.output_ids[-1]) for req in reqs))


def _append(req: Any, tokens: Sequence[int]) -> int:
    for count, token in enumerate(tokens, start=1):
        req.output_ids.append(token)
        req.update_finish_state()
        if req.finished():
            return count
    return len(tokens)
