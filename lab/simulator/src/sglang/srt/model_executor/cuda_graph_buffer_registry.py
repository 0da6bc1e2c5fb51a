"""Input buffers of captured graphs: their size is fixed at capture, every replay fills them anew."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence


class CudaGraphBufferRegistry:
    """Named int64 buffers of `size` tokens."""

    def __init__(self, names: Sequence[str], size: int) -> None:
        self._buffers = {name: array("q", bytes(8 * size)) for name in names}

    def fill_from(self, sources: Mapping[str, Sequence[int]], num_tokens: int) -> None:
        """Copy each source into the first `num_tokens` of its buffer. Raises RuntimeError where sizes differ."""
        gpu_dsts = [memoryview(self._buffers[name])[:num_tokens] for name in sources]
        gpu_srcs = [array("q", values) for values in sources.values()]
        _grouped_foreach_copy_(gpu_dsts, gpu_srcs)


def _grouped_foreach_copy_(dsts: Sequence[memoryview], srcs: Sequence[array[int]]) -> None:
    """Copy group by group; here all buffers have one data type and make one group."""
    groups = {"int64": (dsts, srcs)}
    for group_dsts, group_srcs in groups.values():
        _foreach_copy(group_dsts, group_srcs)


def _foreach_copy(group_dsts: Sequence[memoryview], group_srcs: Sequence[array[int]]) -> None:
    for dst, src in zip(group_dsts, group_srcs, strict=True):
        if len(dst) != len(src) and len(src) != 1:  # torch would repeat a single element
            raise RuntimeError(
                f"The size of tensor a ({len(dst)}) must match the size of tensor b ({len(src)}) at non-singleton dimension 0"
            )
        dst[:] = src if len(dst) == len(src) else array("q", [src[0]] * len(dst))
