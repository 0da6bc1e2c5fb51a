"""Tiny models."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest


def write_shard(path: Path, tensors: dict[str, tuple[int, ...]], padding: int) -> None:
    """A safetensors file: a true header, then `padding` bytes."""
    entries = {name: {"dtype": "BF16", "shape": shape, "data_offsets": [0, padding]} for name, shape in tensors.items()}
    header = json.dumps(entries).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(padding))


def write_models(root: Path, *, fc_width: int = 1024) -> Path:
    """A target of four shards (1 MiB in all) and a drafter with block size 8."""
    for name in ("target", "draft"):
        (root / name).mkdir(parents=True)
    (root / "target" / "config.json").write_text(json.dumps({"architectures": ["Qwen3ForCausalLM"]}))
    for number in range(4):
        write_shard(root / "target" / f"model-{number:05d}.safetensors", {}, 2**18)
    config = {
        "architectures": ["DFlashDraftModel"],
        "hidden_size": 512,
        "block_size": 8,
        "dflash_config": {"target_layer_ids": [1, 4]},
    }
    (root / "draft" / "config.json").write_text(json.dumps(config))
    write_shard(root / "draft" / "model.safetensors", {"fc.weight": (512, fc_width)}, 2**16)
    return root


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with `target` and `draft`."""
    return write_models(tmp_path_factory.mktemp("models"))
