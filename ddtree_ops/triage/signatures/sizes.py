"""PyTorch's messages about sizes that don't fit (ATen/ExpandUtils.cpp, ATen/native/Resize.cpp; torch 2.11)."""

from __future__ import annotations

import re
from typing import NamedTuple

_MUST_MATCH = re.compile(
    r"The size of tensor a \((?P<a>\d+)\) must match the size of tensor b \((?P<b>\d+)\) at non-singleton dimension (?P<dim>\d+)"
)
_EXPANDED = re.compile(
    r"The expanded size of the tensor \((?P<a>\d+)\) must match the existing size \((?P<b>\d+)\)"
    r" at non-singleton dimension (?P<dim>\d+)"
)


class Mismatch(NamedTuple):
    """Two sizes at one dimension; `into` is the written tensor's where one is copied into the other."""

    into: int
    source: int
    dimension: int


def read_mismatch(message: str) -> Mismatch | None:
    """The sizes that the message names, or None."""
    found = _MUST_MATCH.search(message) or _EXPANDED.search(message)
    return Mismatch(int(found["a"]), int(found["b"]), int(found["dim"])) if found else None
