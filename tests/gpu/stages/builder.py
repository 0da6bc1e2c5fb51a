"""Stage `builder`: the GPU tree builder's time, and its equality with the reference on random and adversarial scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec
from tests.gpu.stage import Found, Options

DEPTH, TOP = 7, 8
LIMITS_US = {1: 40.0, 48: 100.0}
BATCHES = (1, 4, 16, 48)
BUDGETS = (7, 15, 31, 63)
PREFIX = 1000
REPLAYS = 200


def needs(_: Options) -> tuple[ServerSpec, ...]:
    return ()


def run(_: Options, __: Servers) -> Found:
    """Microseconds a launch, from CUDA graph replays of 20 launches (so without launch gaps of the CPU), and mismatches."""
    times = {str(budget): {str(batch): _microseconds(batch, budget) for batch in BATCHES} for budget in BUDGETS}
    checked, wrong = _equality()
    verdicts = [Verdict("the GPU builder equals the reference", not wrong, f"{checked} trees, {len(wrong)} differ {wrong[:5]}")]
    for batch, limit in LIMITS_US.items():
        took = times["31"][str(batch)]
        verdicts.append(Verdict(f"31 nodes at batch {batch} under {limit:.0f} us", took < limit, f"{took} us"))
    return Found({"microseconds": times, "trees": checked, "wrong": wrong[:20]}, tuple(verdicts))


def _microseconds(batch: int, budget: int) -> float:
    import torch

    launch, _ = _prepared(torch.randn(batch, DEPTH, 1000, device="cuda").log_softmax(-1), budget)
    launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            launch()
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    start.record()
    for _ in range(REPLAYS):
        graph.replay()
    end.record()
    torch.cuda.synchronize()
    return round(1000 * float(start.elapsed_time(end)) / (REPLAYS * 20), 2)


def _prepared(logprobs: Any, budget: int) -> tuple[Callable[[], None], dict[str, Any]]:
    import torch

    from sglang_ddtree.runtime.grow import TreeBuffers, grow_trees

    batch, width = logprobs.shape[0], budget + 1
    scores, ids = (part.contiguous() for part in logprobs.float().topk(min(TOP, logprobs.shape[-1]), -1))
    roots = torch.full((batch,), 5, dtype=torch.int64, device="cuda")
    prefixes = torch.full((batch,), PREFIX, dtype=torch.int32, device="cuda")
    out = TreeBuffers.allocate(batch, width, "cuda")
    mask = torch.zeros(batch * width * (PREFIX + width), dtype=torch.uint8, device="cuda")
    return lambda: grow_trees(scores, ids, roots, prefixes, out, mask), {"scores": scores, "ids": ids, "out": out, "mask": mask}


def _equality() -> tuple[int, list[str]]:
    from sglang_ddtree.ddtree.tree import build_tree

    checked, wrong = 0, []
    for name, logprobs in _cases():
        for budget in BUDGETS:
            launch, made = _prepared(logprobs, budget)
            launch()
            for row, (scores, ids) in enumerate(zip(made["scores"].tolist(), made["ids"].tolist(), strict=True)):
                tree = build_tree(scores, ids, 5, budget)
                checked += 1
                got = tuple(made["out"].tokens[row].tolist()), tuple(made["out"].parents[row].tolist())
                depths = tuple(place - PREFIX for place in made["out"].positions[row].tolist())
                if got != (tree.tokens, tree.parents) or depths[: tree.size] != tree.depths[: tree.size]:
                    wrong.append(f"{name} budget {budget} row {row}")
                elif not _mask_right(made["mask"], row, budget + 1, tree):
                    wrong.append(f"{name} budget {budget} row {row} (mask)")
    return checked, wrong


def _mask_right(mask: Any, row: int, width: int, tree: Any) -> bool:
    """Every real node sees, within the tree, itself and its ancestors and nothing else."""
    square = mask.view(-1, width, PREFIX + width)[row, :, PREFIX:].tolist()
    for node in range(tree.size):
        seen, at = set(), node
        while at >= 0:
            seen.add(at)
            at = tree.parents[at]
        if {column for column, allowed in enumerate(square[node]) if allowed} != seen:
            return False
    return True


def _cases() -> Iterator[tuple[str, Any]]:
    """Log-probabilities [batch, depth, vocabulary]: random, all alike, sure of one token, impossible tokens, few tokens."""
    import torch

    torch.manual_seed(3)
    for spread in (0.5, 2.0, 8.0):
        yield f"random x {spread}", (torch.randn(16, DEPTH, 1000, device="cuda") * spread).log_softmax(-1)
    yield "ties", torch.zeros(4, DEPTH, 64, device="cuda").log_softmax(-1)
    yield "coarse ties", (torch.randn(16, DEPTH, 64, device="cuda").round()).log_softmax(-1)
    sure = torch.full((4, DEPTH, 64), float("-inf"), device="cuda")
    sure[..., 3] = 0.0
    yield "sure", sure
    holes = torch.randn(8, DEPTH, 64, device="cuda")
    holes[..., 2:] = float("-inf")
    yield "two possible tokens", holes.log_softmax(-1)
    for vocabulary in (1, 2, 5):
        yield f"vocabulary of {vocabulary}", torch.randn(4, DEPTH, vocabulary, device="cuda").log_softmax(-1)
