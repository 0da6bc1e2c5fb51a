"""A tensor-parallel worker: one model runner and the passes it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sglang.simulation.context import RankContext
from sglang.srt.managers.schedule_batch import ForwardBatch, ForwardMode, GenerationBatchResult, ScheduleBatch
from sglang.srt.model_executor.model_runner import ModelRunner
from sglang.srt.model_executor.pool_configurator import MemoryPoolConfig

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs


class TpModelWorker:
    """Target or, with a `pool` taken over from the target, draft worker."""

    def __init__(self, server_args: ServerArgs, context: RankContext, *, pool: MemoryPoolConfig | None = None) -> None:
        self.server_args = server_args
        self.context = context
        self._pool = pool
        self._init_model_runner()

    def _init_model_runner(self) -> None:
        self._model_runner = ModelRunner(
            self.server_args,
            self.context,
            pool=self._pool,
        )

    @property
    def model_runner(self) -> ModelRunner:
        """The runner."""
        return self._model_runner

    def forward_batch_generation(self, batch: ScheduleBatch, verify_input: ForwardBatch | None = None) -> GenerationBatchResult:
        """Prefill or decode a batch; with `verify_input` run the target over drafted tokens instead."""
        forward_batch = verify_input or plain_input(batch)
        out = self.model_runner.forward(
            forward_batch,
        )
        tokens, graph = out
        width = forward_batch.num_tokens_per_bs
        rows = tuple(tuple(tokens[row * width : (row + 1) * width]) for row in range(batch.batch_size()))
        return GenerationBatchResult(rows, graph)


def plain_input(batch: ScheduleBatch) -> ForwardBatch:
    """Input of a pass without drafts: the last token of each request; a prefill counts as one step."""
    extend = batch.forward_mode is ForwardMode.EXTEND
    ids = [req.prompt[-1] if extend or not req.output else req.output[-1] for req in batch.reqs]
    positions = [len(req.output) for req in batch.reqs]
    return ForwardBatch(batch.reqs, batch.forward_mode, ids, positions, num_tokens_per_bs=1)
