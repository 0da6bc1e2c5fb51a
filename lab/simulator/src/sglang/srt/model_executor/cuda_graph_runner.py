"""Captured graphs of the decode or verify pass, one per batch size."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from sglang.simulation.bars import Bar
from sglang.simulation.console import write
from sglang.simulation.context import compile_until, sleep_until
from sglang.simulation.gpu import OutOfMemoryError
from sglang.srt.managers.schedule_batch import ForwardBatch
from sglang.srt.model_executor.cuda_graph_buffer_registry import CudaGraphBufferRegistry
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm, block_size

if TYPE_CHECKING:
    from sglang.srt.model_executor.model_runner import ModelRunner

_GRAPH_GB = 0.01  # what one captured batch size costs
# Compiling at the first capture warns in the middle of the progress bar's line.
_SITE = f"{sys.prefix}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
_SEMANTIC = f"{_SITE}/triton/language/semantic.py"
_TRITON_WARNING = (
    f"{_SEMANTIC}:1670: UserWarning: tl.where with a non-boolean condition is deprecated and will error out in a future "
    "triton release. Got uint8\n  warnings.warn(\n"
)
_ADVICE = (
    "Possible solutions:\n"
    "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)\n"
    "3. disable torch compile by not using --enable-torch-compile\n"
    "4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)\n"
    "Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose \n"
)


class CudaGraphRunner:
    """Graphs of one model runner. `num_tokens_per_bs[bs]` is the width that the graph of that size was captured with."""

    def __init__(self, model_runner: ModelRunner) -> None:
        self.model_runner = model_runner
        self.capture_bs = list(model_runner.server_args.cuda_graph_bs or [1])
        self.num_tokens_per_bs = {bs: self._capture_width(bs) for bs in self.capture_bs}
        self.buffer_registry = CudaGraphBufferRegistry(
            ("input_ids", "positions"), max(bs * width for bs, width in self.num_tokens_per_bs.items())
        )
        try:
            self.capture()
        except OutOfMemoryError as error:
            raise Exception(f"Capture cuda graph failed: {error}\n{_ADVICE}") from error

    def _capture_width(self, bs: int) -> int:
        runner = self.model_runner
        algorithm = SpeculativeAlgorithm.from_string(runner.server_args.speculative_algorithm)
        if runner.context.settings.fault("graph_width") and not algorithm.is_none():
            return block_size(runner.server_args)  # the naive runtime: every graph gets the drafter's width
        return algorithm.get_num_tokens_per_bs_for_target_verify(runner.server_args, bs, is_draft_worker=runner.is_draft_worker)

    def capture(self) -> None:
        """Capture every size, the largest first, over the time that the phase may take."""
        runner, context = self.model_runner, self.model_runner.context
        sizes = sorted(self.capture_bs, reverse=True)
        seconds = context.seconds("graph_capture", is_draft=runner.is_draft_worker)
        began = time.monotonic()
        bar = Bar(len(sizes)) if context.rank == 0 else None
        for index, bs in enumerate(sizes):
            if bar:
                bar.describe(f"Capturing batches (bs={bs} avail_mem={context.gpu.available:.2f} GB)")
            if index == 0 and not runner.is_draft_worker:
                context.enter("graph_capture")
            # The first size compiles kernels and takes most of the time, in silence.
            share = 0.8 + 0.2 * (index + 1) / len(sizes)
            wait = compile_until if index == 0 and context.rank == 0 else sleep_until
            wait(began + seconds * share)
            if index == 0 and not runner.is_draft_worker:
                write(_TRITON_WARNING * 2)
            context.gpu.allocate(min(_GRAPH_GB, context.gpu.available))
            if bar:
                bar.update()
        if bar:
            bar.close()

    def padded_batch_size(self, raw_bs: int) -> int | None:
        """The captured size that serves `raw_bs` requests; None if it is larger than any."""
        fitting = [bs for bs in self.capture_bs if bs >= raw_bs]
        return min(fitting) if fitting else None

    def can_run(self, forward_batch: ForwardBatch) -> bool:
        """Whether a captured graph serves this batch."""
        return self.padded_batch_size(forward_batch.batch_size) is not None

    def replay(self, forward_batch: ForwardBatch) -> list[int]:
        """Run the graph on this batch; gives the target's next token for each input token."""
        self.replay_prepare(forward_batch)
        return self.model_runner.compute(forward_batch)

    def replay_prepare(self, forward_batch: ForwardBatch) -> None:
        """Fill the graph's input buffers. Raises RuntimeError if the batch has another width than the capture had."""
        bs = self.padded_batch_size(forward_batch.batch_size)
        if bs is None:
            raise ValueError(f"no captured graph for batch size {forward_batch.batch_size}")
        raw_num_token = forward_batch.batch_size * self.num_tokens_per_bs[bs]
        self.buffer_registry.fill_from(
            {"input_ids": forward_batch.input_ids, "positions": forward_batch.positions}, raw_num_token
        )
