"""The training code on the CPU at toy scale; skipped without torch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu.training.layout import MASK, Pair, Shape, draft_config, target_config

torch: Any = pytest.importorskip("torch")

SMALL = Shape(layers=3, hidden=16, intermediate=24, heads=4, kv_heads=2, head_dim=8, vocabulary=50)
PAIR = Pair(
    target=SMALL, draft=Shape(layers=2, hidden=16, intermediate=24, heads=4, kv_heads=2, head_dim=8, vocabulary=50), taps=(0, 1)
)


def weights() -> tuple[Any, ...]:
    from tests.gpu.training.drafter import new_drafter
    from tests.gpu.training.target import new_target

    target, drafter = new_target(SMALL, 1), new_drafter(PAIR, 2)
    return tuple(
        {name: weight * 20 if weight.dim() == 2 else weight for name, weight in one.items()} for one in (target, drafter)
    )


def test_a_tap_after_the_last_layer_is_refused() -> None:
    with pytest.raises(ValueError, match="after layer 2 of 3"):
        Pair(target=SMALL, draft=SMALL, taps=(2,))


def test_the_drafters_configuration_names_what_sglang_reads() -> None:
    config = draft_config(PAIR, 100)
    assert config["block_size"] == 8
    assert config["num_target_layers"] == target_config(PAIR, 100)["num_hidden_layers"]
    assert config["dflash_config"] == {"mask_token_id": MASK, "mask_token": "<|MASK|>", "target_layer_ids": [0, 1]}


def test_a_block_knows_nothing_of_what_follows_its_anchor() -> None:
    from tests.gpu.training.drafter import run_drafter
    from tests.gpu.training.target import run_target

    target, drafter = weights()
    tokens = torch.randint(4, 50, (1, 40))
    anchors = torch.tensor([[10, 20]])
    logits = []
    for changed in (None, 11, 9):
        other = tokens.clone()
        if changed is not None:
            other[0, changed] = 4 + (int(other[0, changed]) - 3) % 46
        logits.append(run_drafter(drafter, target, PAIR, other, run_target(target, PAIR, other)[1], anchors))
    assert torch.equal(logits[0][0, 0], logits[1][0, 0]), "a token after the anchor is seen by its block"
    assert not torch.equal(logits[0][0, 1], logits[1][0, 1]), "the later block must see it as context"
    assert not torch.equal(logits[0][0, 0], logits[2][0, 0]), "the context before the anchor must be seen"


def test_the_anchors_own_hidden_state_is_not_known_yet() -> None:
    from tests.gpu.training.drafter import run_drafter
    from tests.gpu.training.target import run_target

    target, drafter = weights()
    tokens = torch.randint(4, 50, (1, 40))
    tapped = run_target(target, PAIR, tokens)[1]
    changed = tapped.clone()
    changed[0, 10] += 1.0
    before, after = (run_drafter(drafter, target, PAIR, tokens, states, torch.tensor([[10, 20]])) for states in (tapped, changed))
    assert torch.equal(before[0, 0], after[0, 0]), "serving has the anchor's token, but not its hidden state"
    assert not torch.equal(before[0, 1], after[0, 1])


def test_a_batched_block_equals_a_block_alone() -> None:
    from tests.gpu.training.drafter import run_drafter
    from tests.gpu.training.target import run_target

    target, drafter = weights()
    tokens = torch.randint(4, 50, (2, 40))
    tapped = run_target(target, PAIR, tokens)[1]
    together = run_drafter(drafter, target, PAIR, tokens, tapped, torch.tensor([[10, 20], [5, 30]]))
    alone = run_drafter(drafter, target, PAIR, tokens[1:, :31], tapped[1:, :31], torch.tensor([[30]]))
    assert torch.allclose(together[1, 1], alone[0, 0], atol=1e-4)


def test_the_grown_pair_says_what_the_small_one_says() -> None:
    from tests.gpu.training.drafter import run_drafter
    from tests.gpu.training.inflate import Growth, draft_parts, grown_pair, target_parts
    from tests.gpu.training.target import run_target

    target, drafter = weights()
    large = Shape(layers=5, hidden=64, intermediate=80, heads=8, kv_heads=4, head_dim=8, vocabulary=90)
    growth = Growth(PAIR, grown_pair(PAIR, large, 3))
    big_target = {name: weight for part in target_parts(growth, target, "cpu") for name, weight in part.items()}
    big_drafter = {name: weight for part in draft_parts(growth, drafter, "cpu") for name, weight in part.items()}
    tokens = torch.randint(4, 50, (2, 30))
    logits, tapped = run_target(target, PAIR, tokens)
    big_logits, big_tapped = run_target(big_target, growth.large, tokens)
    scale = logits.abs().max()
    assert torch.allclose(big_logits[..., :50], logits, atol=float(scale) * 1e-3)
    assert (big_logits[..., 50:].amax(-1) < logits.amin(-1)).all(), "the new tokens must never be chosen"
    anchors = torch.tensor([[8, 15], [3, 20]])
    blocks = run_drafter(drafter, target, PAIR, tokens, tapped, anchors)
    big_blocks = run_drafter(big_drafter, big_target, growth.large, tokens, big_tapped, anchors)
    assert torch.allclose(big_blocks[..., :50], blocks, atol=float(blocks.abs().max()) * 1e-3)
    assert (big_blocks[..., 50:].amax(-1) < blocks.amin(-1)).all()


@pytest.mark.parametrize("hidden", [32, 48, 16])
def test_a_width_that_can_not_be_exact_is_refused(hidden: int) -> None:
    from tests.gpu.training.inflate import Growth, grown_pair

    size = Shape(layers=5, hidden=hidden, intermediate=80, heads=8, kv_heads=4, head_dim=8, vocabulary=90)
    with pytest.raises(ValueError, match="power of 4"):
        Growth(PAIR, grown_pair(PAIR, size, 3))
