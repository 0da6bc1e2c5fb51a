"""The Triton kernels against the reference, without a GPU, by Triton's interpreter. Runs where torch and Triton are installed."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from tests.ddtree.on_cpu import needs

torch: Any = needs("torch")
needs("triton")

from sglang_ddtree.ddtree.masks import flat_offset, positions, visible  # noqa: E402
from sglang_ddtree.ddtree.tree import DraftTree, build_tree  # noqa: E402
from sglang_ddtree.ddtree.walk import walk  # noqa: E402
from sglang_ddtree.ddtree.widths import MAX_TOPK  # noqa: E402
from sglang_ddtree.runtime.commit import commit_paths, walk_trees  # noqa: E402
from sglang_ddtree.runtime.grow import TreeBuffers, grow_trees  # noqa: E402

UNTOUCHED = 7
KINDS = ("random", "ties", "impossible", "not numbers")


class Case:
    """A batch of trees, by the reference and by the kernel."""

    def __init__(self, kind: str, batch: int, depth: int, topk: int, budget: int) -> None:
        rng = random.Random(f"{kind} {batch} {depth} {topk} {budget}")  # noqa: S311
        self.width = budget + 1
        scores = [
            [sorted((_score(rng, kind) for _ in range(topk)), key=_order, reverse=True) for _ in range(depth)]
            for _ in range(batch)
        ]
        ids = [[rng.sample(range(1000), topk) for _ in range(depth)] for _ in range(batch)]
        self.lens = [rng.randrange(1, 50) for _ in range(batch)]
        roots = [rng.randrange(1000) for _ in range(batch)]
        self.trees: list[DraftTree] = [build_tree(*row, budget) for row in zip(scores, ids, roots, strict=True)]
        self.built = TreeBuffers.allocate(batch, self.width, "cpu")
        total = sum(self.width * (length + self.width) for length in self.lens)
        self.mask = torch.full((total,), UNTOUCHED, dtype=torch.uint8)
        self.prefix = torch.tensor(self.lens)
        grow_trees(torch.tensor(scores), torch.tensor(ids), torch.tensor(roots), self.prefix, self.built, self.mask)
        self.choices = [self._choices(rng, tree) for tree in self.trees]
        self.limits = [rng.choice((depth, depth, 1, 0)) for _ in range(batch)]
        limits = torch.tensor(self.limits, dtype=torch.int32)
        self.path = walk_trees(self.built, torch.tensor(self.choices).view(-1), depth + 1, limits)

    @staticmethod
    def _choices(rng: random.Random, tree: DraftTree) -> list[int]:
        """The target agrees with a random path for a while."""
        choices = [rng.randrange(1000) for _ in tree.tokens]
        node = 0
        while children := [child for child in range(1, tree.size) if tree.parents[child] == node]:
            node, above = rng.choice(children), node
            choices[above] = tree.tokens[node]
        return choices


def _score(rng: random.Random, kind: str) -> float:
    if kind == "ties":
        return rng.choice((-0.5, -1.0, -2.0))
    if kind != "random" and rng.random() < 0.5:
        return math.nan if kind == "not numbers" else -math.inf
    return rng.uniform(-8, 0)


def _order(score: float) -> float:
    return -math.inf if math.isnan(score) else score


CASES = [(kind, batch, *shape) for kind in KINDS for batch, shape in ((1, (7, 8, 31)), (3, (3, 2, 12)), (35, (2, 4, 6)))]


@pytest.mark.parametrize(("kind", "batch", "depth", "topk", "budget"), CASES)
def test_trees_masks_walks_and_slots(kind: str, batch: int, depth: int, topk: int, budget: int) -> None:
    case = Case(kind, batch, depth, topk, budget)
    counts = []
    for row, tree in enumerate(case.trees):
        assert case.built.tokens[row].tolist() == list(tree.tokens)
        assert case.built.parents[row].tolist() == list(tree.parents)
        assert case.built.positions[row].tolist() == list(positions(tree, case.lens[row]))
        start = flat_offset(case.lens, row, case.width)
        columns = case.lens[row] + case.width
        square = case.mask[start : start + case.width * columns].view(case.width, columns)
        assert bool((square[:, : case.lens[row]] == UNTOUCHED).all())
        assert square[:, case.lens[row] :].bool().tolist() == [list(line) for line in visible(tree)]
        accepted = walk(tree, case.choices[row], case.limits[row])
        found = case.path[row].tolist()
        count = found[0] + 1
        assert tuple(found[1 : 1 + count]) == accepted.nodes
        assert tuple(found[2 + depth : 2 + depth + count]) == accepted.tokens
        counts.append(random.Random(row).randint(1, count))  # noqa: S311 - a stop token may cut the path
    _check_slots(case, counts)


def test_the_most_candidates_that_fit_into_a_packed_place() -> None:
    """All scores equal: the builder takes rank after rank of one depth, up to the last."""
    topk = MAX_TOPK
    scores = [[-1.0] * topk, [-3.0] * topk]
    ids = [list(range(topk)), list(range(topk, 2 * topk))]
    tree = build_tree(scores, ids, 7, topk + 8)
    built = TreeBuffers.allocate(1, topk + 9, "cpu")
    mask = torch.zeros((topk + 9) * (topk + 10), dtype=torch.uint8)
    grow_trees(torch.tensor([scores]), torch.tensor([ids]), torch.tensor([7]), torch.tensor([1]), built, mask)
    assert topk - 1 in tree.tokens  # the last rank was needed
    assert built.tokens[0].tolist() == list(tree.tokens)
    assert built.parents[0].tolist() == list(tree.parents)


def _check_slots(case: Case, counts: list[int]) -> None:
    batch = len(counts)
    slots = torch.randperm(batch * case.width).view(batch, case.width) + 1
    table = torch.zeros((batch + 2, 100), dtype=torch.int32)
    rows = torch.randperm(batch + 2)[:batch]
    kept = commit_paths(case.path, torch.tensor(counts), sum(counts), slots, case.prefix, rows, table)
    nodes = [(row, case.path[row, 1 + step].item()) for row, count in enumerate(counts) for step in range(count)]
    assert kept.slots.tolist() == [slots[row, node].item() for row, node in nodes]
    assert kept.rows.tolist() == [row * case.width + node for row, node in nodes]
    assert kept.positions.tolist() == [case.lens[row] + step for row, count in enumerate(counts) for step in range(count)]
    assert sorted([*kept.slots.tolist(), *kept.freed.tolist()]) == list(range(1, batch * case.width + 1))
    for row, count in enumerate(counts):
        line = table[rows[row]].tolist()
        written = [slots[row, case.path[row, 1 + step]].item() for step in range(count)]
        assert line[case.lens[row] : case.lens[row] + count] == written
        assert sum(entry != 0 for entry in line) == count
