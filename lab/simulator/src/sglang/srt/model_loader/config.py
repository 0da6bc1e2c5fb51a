"""A model folder's config.json and weight files."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MAX_HEADER = 64 * 2**20  # safetensors' own limit is 100 MB; no draft model comes near


@dataclass(frozen=True)
class WeightFile:
    """One safetensors file and its size in bytes."""

    path: str
    size: int


def read_config(model_path: str) -> Mapping[str, Any]:
    """config.json of a model. Raises OSError in transformers' words where there is none, ValueError if it isn't JSON."""
    try:
        with open(os.path.join(model_path, "config.json"), encoding="utf-8") as file:  # noqa: PTH118, PTH123
            config = json.load(file)
    except FileNotFoundError:
        raise OSError(missing_file(model_path, "config.json")) from None
    if not isinstance(config, dict):
        raise ValueError(f"config.json of {model_path} is not an object")
    return config


def missing_file(model_path: str, name: str) -> str:
    """What transformers says of a file that a model folder lacks."""
    return (
        f"{model_path} does not appear to have a file named {name}. Checkout "
        f"'https://huggingface.co/{model_path}/tree/main' for available files."
    )


def weight_files(model_path: str) -> tuple[WeightFile, ...]:
    """The safetensors files of a model, in name order. Raises RuntimeError in SGLang's words if there are none."""
    try:
        names = sorted(name for name in os.listdir(model_path) if name.endswith(".safetensors"))  # noqa: PTH208
    except OSError:
        names = []
    if not names:
        raise RuntimeError(f"Cannot find any model weights with `{model_path}`")
    paths = [os.path.join(model_path, name) for name in names]  # noqa: PTH118
    return tuple(WeightFile(path, os.stat(path).st_size) for path in paths)  # noqa: PTH116


def tensor_shape(file: WeightFile, name: str) -> tuple[int, ...] | None:
    """Shape of a tensor by the file's safetensors header; None if it isn't there or the header can't be read."""
    try:
        with open(file.path, "rb") as stream:  # noqa: PTH123
            (length,) = struct.unpack("<Q", stream.read(8))
            if not 0 < length <= min(file.size, _MAX_HEADER):
                return None
            header = json.loads(stream.read(length))
        return tuple(int(size) for size in header[name]["shape"])
    except (OSError, ValueError, KeyError, TypeError, struct.error):
        return None
