#!/usr/bin/env python3
"""Write the model directories of a lab host: valid checkpoints in form, a few hundred kilobytes on disk.

Usage: make-models.py DIRECTORY

The target is Kimi K2.6 with its real shape figures (61 layers, MLA with a latent of 512 + 64, 384 experts), the draft a
DFlash model of block size 8. Every shard is a real safetensors file of exactly 1 MiB: header, then one tensor of holes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

SHARD_BYTES: Final = 1 << 20
TARGET_SHARDS: Final = 64

TEXT_CONFIG: Final[dict[str, Any]] = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "kimi_k2",
    "num_hidden_layers": 61,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 384,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "max_position_embeddings": 262144,
    "vocab_size": 163840,
    "quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"},
}
TARGET_CONFIG: Final[dict[str, Any]] = {
    "architectures": ["KimiK25ForConditionalGeneration"],
    "model_type": "kimi_k25",
    "dtype": "bfloat16",
    "text_config": TEXT_CONFIG,
}
DRAFT_CONFIG: Final[dict[str, Any]] = {
    "architectures": ["DFlashDraftModel"],
    "model_type": "qwen3",
    "dtype": "bfloat16",
    "block_size": 8,
    "dflash_config": {"mask_token_id": 163838, "target_layer_ids": [1, 12, 24, 35, 47, 58]},
    "num_hidden_layers": 6,
    "num_target_layers": 61,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "max_position_embeddings": 262144,
    "vocab_size": 163840,
}


def write_shard(path: Path, tensor: str) -> int:
    """Write one safetensors file of SHARD_BYTES; return the bytes of its tensor."""
    header_bytes = 512
    data = SHARD_BYTES - 8 - header_bytes
    entry = {tensor: {"dtype": "U8", "shape": [data], "data_offsets": [0, data]}}
    header = json.dumps(entry).encode().ljust(header_bytes)
    with path.open("wb") as file:
        file.write(header_bytes.to_bytes(8, "little") + header)
        file.truncate(SHARD_BYTES)
    return data


def write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n")


def write_target(directory: Path) -> None:
    directory.mkdir(parents=True)
    write_json(directory / "config.json", TARGET_CONFIG)
    weight_map: dict[str, str] = {}
    total = 0
    for number in range(1, TARGET_SHARDS + 1):
        file = f"model-{number:05d}-of-{TARGET_SHARDS:05d}.safetensors"
        tensor = f"language_model.model.lab.{number}.weight"
        total += write_shard(directory / file, tensor)
        weight_map[tensor] = file
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    write_json(directory / "model.safetensors.index.json", index)


def write_draft(directory: Path) -> None:
    directory.mkdir(parents=True)
    write_json(directory / "config.json", DRAFT_CONFIG)
    write_shard(directory / "model.safetensors", "layers.0.lab.weight")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: make-models.py DIRECTORY", file=sys.stderr)
        return 2
    root = Path(arguments[0])
    write_target(root / "kimi-k2.6")
    write_draft(root / "kimi-k2.6-dflash")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
