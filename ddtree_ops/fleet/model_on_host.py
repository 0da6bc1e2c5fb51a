"""A model as it lies on the host: its config.json, shortened there, and the size of its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ModelOnHost:
    """`config` is None where it can't be read; `size` is bytes of all weight files, None where it isn't known."""

    config: Mapping[str, Any] | None
    size: int | None = None


def parse(output: str) -> dict[str, ModelOnHost]:
    """The answer of roles/model's program, by directory; empty for an answer of another form."""
    try:
        answer = json.loads(output)
        configs, sizes = answer["configs"], answer["bytes"]
        return {str(path): ModelOnHost(_mapping(config), _size(sizes.get(path))) for path, config in configs.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def _mapping(value: object) -> Mapping[str, Any] | None:
    return value if isinstance(value, dict) else None


def _size(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None
