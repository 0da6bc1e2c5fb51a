"""How a modelled server speculates: what it says in /server_info, /metrics and in each answer's meta_info."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.ports import HttpResponse

LABELS = '{model_name="/srv/m"}'


@dataclass
class TreeModel:
    """`per_step`: tokens of each verify step; `others`: tokens that other clients get beside each of our requests;
    `salt` changes the answers; `breaks_after`: the server is gone after so many generations."""

    algorithm: str | None = "DDTREE"
    width: int = 32
    block_size: int = 8
    per_step: int = 4
    others: int = 0
    counts: bool = True
    metrics: bool = True
    tells_steps: bool = True
    salt: str = ""
    breaks_after: int | None = None
    generations: int = 0
    committed: int = 0
    steps: int = 0
    prompts: list[str] = field(default_factory=list)

    def get(self, path: str) -> HttpResponse:
        """GET /server_info or /metrics."""
        if path == "/server_info":
            return _json(
                {
                    "speculative_algorithm": self.algorithm,
                    "speculative_num_draft_tokens": self.width,
                    "speculative_dflash_block_size": self.block_size,
                }
            )
        return HttpResponse(200, self._exposition().encode(), 0.0) if self.metrics else HttpResponse(404, b"", 0.0)

    def generate(self, prompt: str, max_tokens: int, text: str) -> HttpResponse:
        """An answer of `max_tokens` tokens, counted."""
        self.generations += 1
        self.prompts.append(prompt)
        if self.breaks_after is not None and self.generations > self.breaks_after:
            return HttpResponse(0, b"", 0.0)
        decoded = max_tokens - 1
        steps = -(-decoded // self.per_step)
        if self.counts:
            self.committed += decoded + self.others
            self.steps += steps + self.others
        seed = zlib.crc32((self.salt + prompt).encode())
        meta: dict[str, Any] = {"completion_tokens": max_tokens}
        if self.tells_steps:
            meta["spec_verify_ct"] = steps
        return _json({"text": text, "output_ids": [(seed + n) % 50000 for n in range(max_tokens)], "meta_info": meta})

    def _exposition(self) -> str:
        values = {"committed_tokens": self.committed, "accepted_tokens": self.committed - self.steps, "verify_steps": self.steps}
        return "".join(
            f"# TYPE sglang_ddtree_{name}_total counter\nsglang_ddtree_{name}_total{LABELS} {value:.1f}\n"
            for name, value in values.items()
        )


def _json(document: object) -> HttpResponse:
    return HttpResponse(200, json.dumps(document).encode(), 0.01)
