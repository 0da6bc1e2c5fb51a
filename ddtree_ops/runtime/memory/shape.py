"""A model's shape, from its config.json: what memory and compatibility follow from. What is missing or absurd is None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST = 2**31


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The language model's part of a config, and of a DFlash draft its own settings.

    `max_context` in tokens, as SGLang derives it (0.5.13.post1, srt/utils/hf_transformers/common.py, get_context_length).
    `quantization` is `quant_method` of the checkpoint, or its format where that says more (nvfp4).
    """

    architectures: tuple[str, ...] = ()
    layers: int | None = None
    hidden: int | None = None
    intermediate: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    v_head_dim: int | None = None
    latent: int | None = None
    """kv_lora_rank: there is one for multi-head latent attention (MLA) only."""
    rope_dim: int | None = None
    q_latent: int | None = None
    vocabulary: int | None = None
    max_context: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    expert_intermediate: int | None = None
    dtype_bytes: int = 2
    quantization: str | None = None
    vision: bool = False
    block_size: int | None = None
    target_layers: int | None = None
    layer_ids: tuple[int, ...] = ()
    mask_token: int | None = None

    @property
    def latent_attention(self) -> bool:
        """Whether the model uses MLA, whose cache is the same on every rank."""
        return self.latent is not None


def shape_of(config: Mapping[str, Any]) -> ModelShape:
    """Read a config; other kinds of models just leave fields out."""
    inner = config.get("text_config")
    text: Mapping[str, Any] = inner if isinstance(inner, Mapping) else config
    draft = config.get("dflash_config")
    dflash: Mapping[str, Any] = draft if isinstance(draft, Mapping) else {}
    heads, hidden = _number(text, "num_attention_heads"), _number(text, "hidden_size")
    head_dim = _number(text, "head_dim") or (hidden // heads if hidden and heads else None)
    return ModelShape(
        architectures=tuple(str(one)[:100] for one in _list(config, "architectures")[:8]),
        layers=_number(text, "num_hidden_layers"),
        hidden=hidden,
        intermediate=_number(text, "intermediate_size"),
        heads=heads,
        kv_heads=_number(text, "num_key_value_heads") or heads,
        head_dim=head_dim,
        v_head_dim=_number(text, "v_head_dim") or head_dim,
        latent=_number(text, "kv_lora_rank"),
        rope_dim=_number(text, "qk_rope_head_dim"),
        q_latent=_number(text, "q_lora_rank"),
        vocabulary=_number(text, "vocab_size"),
        max_context=_max_context(text),
        experts=_number(text, "n_routed_experts") or _number(text, "num_experts"),
        experts_per_token=_number(text, "num_experts_per_tok"),
        expert_intermediate=_number(text, "moe_intermediate_size"),
        quantization=_quantization(config) or _quantization(text),
        vision=isinstance(config.get("vision_config"), Mapping),
        block_size=_number(config, "block_size") or _number(dflash, "block_size"),
        target_layers=_number(config, "num_target_layers"),
        layer_ids=tuple(one for one in _list(dflash, "target_layer_ids")[:256] if isinstance(one, int)),
        mask_token=_number(dflash, "mask_token_id", least=0),
    )


def _number(config: Mapping[str, Any], name: str, least: int = 1) -> int | None:
    value = config.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and least <= value < _MOST else None


def _list(config: Mapping[str, Any], name: str) -> list[Any]:
    value = config.get(name)
    return value if isinstance(value, list) else []


def _max_context(text: Mapping[str, Any]) -> int | None:
    names = ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")
    length = next((number for number in (_number(text, name) for name in names) if number), None)
    scaling = text.get("rope_scaling")
    if length is None or not isinstance(scaling, Mapping):
        return length
    factor = scaling.get("factor", 1)
    fixed = "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3"
    usable = isinstance(factor, int | float) and not isinstance(factor, bool) and 0 < factor < 10_000
    return int(length * factor) if usable and not fixed else length


def _quantization(config: Mapping[str, Any]) -> str | None:
    section = config.get("quantization_config")
    if not isinstance(section, Mapping) or not isinstance(section.get("quant_method"), str):
        return None
    words = (section.get(name) for name in ("quant_method", "format", "quant_algo"))
    named = [str(word)[:60].lower() for word in words if isinstance(word, str)]
    return "nvfp4" if any("nvfp4" in word for word in named) else named[0]
