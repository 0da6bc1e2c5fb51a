"""Verify passes of the target, one per width of the table: attention back-end, captured graphs, mask buffer.

SGLang itself captures the widest one. A budget schedule's narrower ones are made here; they share the wide one's large buffers,
since only one pass runs at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from sglang.srt.layers.attention.triton_backend import TritonAttnBackend
from sglang.srt.model_executor.cuda_graph_runner import CudaGraphRunner
from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode
from sglang.srt.speculative.dflash_info import DFlashVerifyInput

from ..ddtree.widths import VerifyWidth, WidthTable
from .guard import guarded

logger = logging.getLogger(__name__)

_SHARED = (
    "cuda_graph_attn_logits",
    "cuda_graph_swa_attn_logits",
    "cuda_graph_attn_lse",
    "cuda_graph_num_kv_splits",
    "cuda_graph_kv_indices",
    "cuda_graph_custom_mask",
)


@dataclass
class TreeVerifyInput(DFlashVerifyInput):  # type: ignore[misc]
    """What the target's forward pass needs to know of the trees.

    `custom_mask` is a one-byte view of the mask buffer, into which the mask was written before: the eager path takes its address
    (the kernel reads the buffer from there), and before a replay SGLang copies that many bytes onto themselves.
    """

    eager: bool = False
    """The mask isn't in the buffer that the graph reads: run without it."""


class NarrowBackend(TritonAttnBackend):  # type: ignore[misc]
    """Triton back-end for a narrower verify pass, on the buffers of the widest one."""

    def __init__(self, model_runner: Any, width: int, widest: TritonAttnBackend) -> None:
        super().__init__(model_runner)
        self.num_draft_tokens = width
        self._widest = widest

    def init_cuda_graph_state(self, *_args: Any, **_kwargs: Any) -> None:
        """Take the widest back-end's buffers in place of own ones."""
        for name in _SHARED:
            setattr(self, name, getattr(self._widest, name))


class NarrowGraphRunner(CudaGraphRunner):  # type: ignore[misc]
    """Captured graphs for a verify width of its own."""

    def get_spec_info(self, _num_tokens: int) -> DFlashVerifyInput:
        """The verify input to capture with: SGLang's own would name the widest pass."""
        return DFlashVerifyInput(
            draft_token=None,
            positions=None,
            draft_token_num=self.num_tokens_per_bs,
            custom_mask=self.buffers.custom_mask,
            capture_hidden_mode=CaptureHiddenMode.FULL,
        )


@dataclass
class VerifyPass:
    """One width. `runner` is None where no graph was captured: such batches run eagerly."""

    width: int
    backend: Any
    runner: Any
    spare_mask: torch.Tensor | None = None

    def mask(self, batch: int, lens_sum: int, device: torch.device | str) -> tuple[torch.Tensor, bool]:
        """A buffer for the batch's flat mask, and whether it is the one that the captured graph reads.

        Near the context limit the graph's own buffer can be too small by some bytes; then a spare one serves an eager run.
        """
        needed = self.width * (lens_sum + self.width * batch)
        captured = getattr(self.backend, "cuda_graph_custom_mask", None)
        if self.runner is not None and captured is not None and needed <= captured.numel():
            return captured, True
        if self.spare_mask is None or self.spare_mask.numel() < needed:
            self.spare_mask = torch.zeros(2 * needed, dtype=torch.uint8, device=device)
        return self.spare_mask, False


class VerifyPasses:
    """All widths of a server; `activate` makes the target run in the one for a batch."""

    def __init__(self, model_runner: Any, table: WidthTable) -> None:
        self._model_runner = model_runner
        self._table = table
        widest = VerifyPass(table.verify_width, model_runner.attn_backend, model_runner.graph_runner)
        self._passes = {widest.width: widest}
        for entry in table.verify:
            if entry.width not in self._passes:
                self._passes[entry.width] = self._narrow(entry, widest)
        for item in self._passes.values():
            if item.runner is not None:
                item.runner.can_run = guarded(item.runner)

    @property
    def captured(self) -> bool:
        """Whether the server runs with CUDA graphs at all."""
        return self._passes[self._table.verify_width].runner is not None

    def activate(self, batch: int) -> VerifyPass:
        """Switch the target to the width for a batch of so many requests."""
        chosen = self._passes[self._table.verify_for(batch).width]
        self._model_runner.attn_backend = chosen.backend
        self._model_runner.graph_runner = chosen.runner
        return chosen

    def _narrow(self, entry: VerifyWidth, widest: VerifyPass) -> VerifyPass:
        backend = NarrowBackend(self._model_runner, entry.width, widest.backend)
        if widest.runner is None:
            return VerifyPass(entry.width, backend, None)
        sizes = self._sizes(entry.width, widest.runner.capture_bs)
        if not sizes:
            logger.warning(
                "DDTREE: no graph is captured for %d verify tokens: its batches are larger than --cuda-graph-max-bs", entry.width
            )
            return VerifyPass(entry.width, backend, None)
        logger.info("DDTREE: capturing graphs for %d verify tokens per request, batch sizes %s", entry.width, sizes)
        with _capture_sizes(self._model_runner.server_args, sizes):
            runner = NarrowGraphRunner(self._model_runner, attn_backend=backend, speculative_num_draft_tokens=entry.width)
        return VerifyPass(entry.width, backend, runner)

    def _sizes(self, width: int, captured: list[int]) -> list[int]:
        """Of the batch sizes captured for the widest pass, those that batches of this width are padded to."""
        largest = max(captured)
        batches = (size for size in range(1, largest + 1) if self._table.verify_for(size).width == width)
        return sorted({min(size for size in captured if size >= batch) for batch in batches})


@contextmanager
def _capture_sizes(server_args: Any, sizes: list[int]) -> Iterator[None]:
    saved = server_args.cuda_graph_bs
    server_args.cuda_graph_bs = list(sizes)
    try:
        yield
    finally:
        server_args.cuda_graph_bs = saved
