"""Shapes of the two small models, and their config.json as SGLang 0.5.13.post1 reads them.

The target has Qwen3's layout (transformers `Qwen3ForCausalLM`); the drafter has the layout of SGLang's
srt/models/dflash.py: transformer layers, `fc` and `hidden_norm` for the target's hidden states, `norm`, and neither
embedding nor output head, for which it borrows the target's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

END_OF_TEXT, START_OF_TURN, END_OF_TURN, MASK = range(4)
SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|MASK|>")
NORM_EPSILON = 1e-6
ROPE_BASE = 10000.0


@dataclass(frozen=True, slots=True)
class Shape:
    """One transformer; `vocabulary` is no multiple of 64 on purpose, so that shards of the output head are padded."""

    layers: int
    hidden: int = 256
    intermediate: int = 640
    heads: int = 8
    kv_heads: int = 2
    head_dim: int = 64
    vocabulary: int = 1000


@dataclass(frozen=True, slots=True)
class Pair:
    """A target, its drafter, and what joins them.

    `taps` are the 0-based target layers after which hidden states are taken. A tap after the last layer is impossible:
    SGLang takes them before the following layer.
    """

    target: Shape = field(default_factory=lambda: Shape(layers=4))
    draft: Shape = field(default_factory=lambda: Shape(layers=2))
    taps: tuple[int, ...] = (0, 1, 2)
    block: int = 8
    epsilon: float = NORM_EPSILON

    def __post_init__(self) -> None:
        if max(self.taps) > self.target.layers - 2:
            raise ValueError(f"no hidden state can be taken after layer {max(self.taps)} of {self.target.layers}")
        if self.target.hidden != self.draft.hidden:
            raise ValueError("the drafter uses the target's embedding: hidden sizes must agree")


def target_config(pair: Pair, context: int) -> dict[str, Any]:
    """config.json of the target; `context` is the longest prompt plus answer in tokens."""
    return _common(pair.target, context, pair.epsilon) | {
        "architectures": ["Qwen3ForCausalLM"],
        "bos_token_id": END_OF_TEXT,
        "eos_token_id": END_OF_TURN,
        "pad_token_id": END_OF_TEXT,
        "tie_word_embeddings": False,
        "use_cache": True,
    }


def draft_config(pair: Pair, context: int) -> dict[str, Any]:
    """config.json of the drafter."""
    taps = list(pair.taps)
    return _common(pair.draft, context, pair.epsilon) | {
        "architectures": ["DFlashDraftModel"],
        "tie_word_embeddings": False,
        "block_size": pair.block,
        "num_target_layers": pair.target.layers,
        "dflash_config": {"mask_token_id": MASK, "mask_token": SPECIAL_TOKENS[MASK], "target_layer_ids": taps},
    }


def _common(shape: Shape, context: int, epsilon: float) -> dict[str, Any]:
    return {
        "model_type": "qwen3",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "vocab_size": shape.vocabulary,
        "max_position_embeddings": context,
        "rms_norm_eps": epsilon,
        "rope_theta": ROPE_BASE,
        "rope_parameters": {"rope_type": "default", "rope_theta": ROPE_BASE},
        "hidden_act": "silu",
        "attention_bias": False,
        "attention_dropout": 0.0,
        "use_sliding_window": False,
        "torch_dtype": "bfloat16",
    }
