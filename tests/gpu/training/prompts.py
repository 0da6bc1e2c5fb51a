"""The prompt sets, cut from the token streams so that a prompt never ends inside a word of the training text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

PER_SET = 64
LENGTHS = (48, 160)


def cut_prompts(streams: Mapping[str, list[int]], per_set: int = PER_SET) -> dict[str, list[list[int]]]:
    """For each set, `per_set` prompts of 48 to 160 token ids, spread evenly over its stream."""
    return {name: _spread(stream, per_set) for name, stream in streams.items()}


def _spread(stream: list[int], count: int) -> list[list[int]]:
    shortest, longest = LENGTHS
    pace = (len(stream) - longest) // count
    if pace <= 0:
        raise ValueError(f"a stream of {len(stream)} tokens is too short for {count} prompts")
    return [stream[start : start + shortest + (start * 7) % (longest - shortest)] for start in range(0, pace * count, pace)]


def save_prompts(prompts: Mapping[str, list[list[int]]], path: Path) -> None:
    path.write_text(json.dumps(prompts, separators=(",", ":")))


def load_prompts(path: Path) -> dict[str, list[list[int]]]:
    """Token ids by set: `seen`, `prose`, `unseen`."""
    loaded: dict[str, list[list[int]]] = json.loads(path.read_text())
    return loaded
