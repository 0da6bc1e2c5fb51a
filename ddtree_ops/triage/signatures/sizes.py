"""Messages about sizes that don't fit: PyTorch's (ATen/ExpandUtils.cpp, native/Resize.cpp, native/TensorShape.cpp, 1.x to 2.14),
and that of kernels bound through TVM's FFI."""

from __future__ import annotations

import re
from typing import NamedTuple

_SHAPE = r"\[(?P<{}>[\d, ]{{0,80}})\]"
_MUST_MATCH = re.compile(
    r"The size of tensor a \((?P<a>\d{1,12})\) must match the size of tensor b \((?P<b>\d{1,12})\) at non-singleton dimension "
    r"(?P<dim>\d{1,3})"
)
_EXPANDED = re.compile(
    r"The expanded size of the tensor \((?P<a>\d{1,12})\) must match the existing size \((?P<b>\d{1,12})\)"
    r" at non-singleton dimension (?P<dim>\d{1,3})"
)
_CAT = re.compile(
    r"Sizes of tensors must match except in dimension \d{1,3}\. (?:Expected size|Got) (?P<a>\d{1,12}) (?:but got size|and) "
    r"(?P<b>\d{1,12})"
)
_KERNEL = re.compile(
    r"[Ss]ize mismatch for shape#(?P<dim>\d{1,3})(?:\('\w{1,60}'\))?: expected (?P<a>\d{1,12}) but got (?P<b>\d{1,12})"
)
# The written tensor's shape first where the message tells
_TWO_SHAPES = (
    re.compile(r"output with shape " + _SHAPE.format("a") + r" doesn't match the broadcast shape " + _SHAPE.format("b")),
    re.compile(
        r"shape mismatch: value tensor of shape "
        + _SHAPE.format("b")
        + r" cannot be broadcast to indexing result of shape "
        + _SHAPE.format("a")
    ),
)
_PRODUCT = re.compile(
    r"mat1 and mat2 shapes cannot be multiplied \((?P<rows>\d{1,12})x(?P<a>\d{1,12}) and (?P<b>\d{1,12})x\d{1,12}\)"
)
_OTHER = re.compile(
    r"shape '\[[-\d, ]{1,80}\]' is invalid for input of size \d{1,12}|Expected size for first two dimensions of batch|shape"
    r" mismatch"
    r"|self and mat2 must have the same|invalid shape|must have same number of dimensions|mismatch(?:ed)? (?:in )?shape|Tensor"
    r" match failed"
    r"|(?:split_with_sizes|index_copy_|index_fill_|narrow)\(\)|ctx_hidden/cache_loc mismatch|exceeds dimension size"
    r"|(?:size|row count|length) mismatch[.:,]"
)


class Mismatch(NamedTuple):
    """Two sizes at one dimension; `into` is the written tensor's where one is copied into the other.

    `dimension`: None where the message doesn't say; `product`: of a matrix product (width of the input, width expected).
    """

    into: int
    source: int
    dimension: int | None
    product: bool = False


def read_mismatch(message: str) -> Mismatch | None:
    """The sizes that the message names, or None."""
    message = message[:8000]
    for pattern in (_MUST_MATCH, _EXPANDED, _KERNEL, _CAT):
        found = pattern.search(message)
        if found:
            dimension = found.groupdict().get("dim")
            return Mismatch(int(found["a"]), int(found["b"]), int(dimension) if dimension else None)
    for pattern in _TWO_SHAPES:
        found = pattern.search(message)
        if found:
            return _first_difference(_sizes(found["a"]), _sizes(found["b"]))
    found = _PRODUCT.search(message)
    return Mismatch(int(found["a"]), int(found["b"]), None, product=True) if found else None


def tells_of_shapes(message: str) -> bool:
    """Whether it is about sizes that don't fit, though not in a form that names two of them."""
    return bool(_OTHER.search(message[:8000]))


def _sizes(text: str) -> list[int]:
    return [int(item) for item in text.replace(" ", "").split(",") if item]


def _first_difference(into: list[int], source: list[int]) -> Mismatch | None:
    if len(into) != len(source):
        return None
    return next((Mismatch(a, b, at) for at, (a, b) in enumerate(zip(into, source, strict=True)) if a != b), None)
