"""What a release's server.json says of how its server is configured, as far as monitoring wants to know it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ddtree_ops.fleet.server_args import canonical
from ddtree_ops.units.json_object import json_object
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

MOST_BYTES = 1 << 20
_MOST_RANKS = 4096
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Models by the last part of their path; empty texts for what isn't there. `budget` and `block` only with a tree or draft.

    `gpus`: how many of this host the server needs.
    """

    port: int | None
    model: str
    draft_model: str
    algorithm: str
    tensor_parallel: int
    gpus: int
    budget: int | None
    block: int | None


def read_settings(text: str) -> ServerSettings | None:
    """Of server.json; None for anything else."""
    server = json_object(text) or {}
    argv = server.get("argv")
    if not isinstance(argv, list):
        return None
    given = dict(_arguments([str(word) for word in argv]))
    tensor = _number(given, "tp-size") or 1
    return ServerSettings(
        port=whole_number(str(server.get("port", "")), MOST_PORT),
        model=_last_part(given.get("model-path", "")),
        draft_model=_last_part(given.get("speculative-draft-model-path", "")),
        algorithm=given.get("speculative-algorithm", "")[:_LONGEST],
        tensor_parallel=tensor,
        gpus=_gpus(given, tensor),
        budget=_number(given, "speculative-ddtree-budget"),
        block=_number(given, "speculative-dflash-block-size"),
    )


def _arguments(argv: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of an argument's one spelling and its first word; flags have none. The last of several counts, as in argparse."""
    for place, word in enumerate(argv):
        if word.startswith("--"):
            name, joined, value = word.partition("=")
            follows = argv[place + 1] if place + 1 < len(argv) else ""
            yield canonical(name), value if joined else "" if follows.startswith("--") else follows


def _gpus(given: Mapping[str, str], tensor: int) -> int:
    """SGLang's world: tensor times pipeline ranks; data parallel ones besides, unless they share it (DP attention)."""
    ranks = tensor * (_number(given, "pp-size") or 1)
    if "enable-dp-attention" not in given:
        ranks *= _number(given, "dp-size") or 1
    nodes = _number(given, "nnodes") or 1
    return min(-(-ranks // nodes), _MOST_RANKS)


def _number(given: Mapping[str, str], name: str) -> int | None:
    return whole_number(given.get(name, ""), _MOST_RANKS)


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2][:_LONGEST]
