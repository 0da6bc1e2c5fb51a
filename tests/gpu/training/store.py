"""The pair as model folders that SGLang loads, and the prompts beside them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from tests.gpu.training.inflate import Growth, draft_parts, grown_pair, target_parts
from tests.gpu.training.layout import Pair, Shape, draft_config, target_config
from tests.gpu.training.prompts import save_prompts
from tests.gpu.training.tokens import save_tokenizer
from tests.gpu.training.transformer import Weights

CONTEXT = 16384


def bfloat16(weights: Weights) -> Weights:
    """The weights as they are saved and served, in float32 on their own device: what is trained after must see these."""
    return {name: weight.to(torch.bfloat16).float() for name, weight in weights.items()}


def save_models(
    folder: Path, pair: Pair, target: Weights, drafter: Weights, tokenizer: Any, prompts: Mapping[str, list[list[int]]]
) -> None:
    """`folder`/target, `folder`/draft (bfloat16, the target's tokenizer) and `folder`/prompts.json."""
    _save(folder / "target", target, target_config(pair, CONTEXT))
    save_drafter(folder, pair, drafter)
    save_tokenizer(tokenizer, folder / "target", CONTEXT)
    save_prompts(prompts, folder / "prompts.json")


def save_drafter(folder: Path, pair: Pair, drafter: Weights) -> None:
    """`folder`/draft anew."""
    _save(folder / "draft", drafter, draft_config(pair, CONTEXT))


def load_models(folder: Path, device: str) -> tuple[Weights, Weights]:
    """Target and drafter as they are served, in float32."""
    from safetensors.torch import load_file

    both = (load_file(str(folder / name / "model.safetensors"), device=device) for name in ("target", "draft"))
    target, drafter = ({name: weight.float() for name, weight in weights.items()} for weights in both)
    return target, drafter


def _save(folder: Path, weights: Weights, config: dict[str, Any]) -> None:
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    stored = {key: weight.to(torch.bfloat16).cpu().contiguous() for key, weight in weights.items()}
    save_file(stored, str(folder / "model.safetensors"), metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1))


def save_parts(folder: Path, parts: Iterable[Weights], config: dict[str, Any]) -> None:
    """A model too large to hold twice: one safetensors file a part, and the index that transformers defines for them."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    places: dict[str, str] = {}
    for number, part in enumerate(parts):
        name = f"model-{number:05}.safetensors"
        stored = {key: weight.to(torch.bfloat16).cpu().contiguous() for key, weight in part.items()}
        save_file(stored, str(folder / name), metadata={"format": "pt"})
        places |= dict.fromkeys(stored, name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    (folder / "config.json").write_text(json.dumps(config, indent=1))


def grow_models(small: Path, large: Path, size: Shape, draft_layers: int, device: str) -> Pair:
    """The saved pair grown to `size` (see training/inflate.py), with the same tokenizer and prompts."""
    from safetensors.torch import load_file

    growth = Growth(Pair(), grown_pair(Pair(), size, draft_layers))
    for name, grow, config in (("target", target_parts, target_config), ("draft", draft_parts, draft_config)):
        weights = load_file(str(small / name / "model.safetensors"), device=device)
        save_parts(large / name, grow(growth, weights, device), config(growth.large, CONTEXT))
    for name in ("target/tokenizer.json", "target/tokenizer_config.json", "prompts.json"):
        shutil.copyfile(small / name, large / name)
    return growth.large
