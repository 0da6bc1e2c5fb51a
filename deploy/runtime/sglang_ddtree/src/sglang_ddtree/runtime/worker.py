"""The speculative worker: one decode step is draft, build trees, verify, commit.

It is a DFLASH worker (drafter, prefill and context handling are SGLang's own) whose decode step is another one. What a step reads
back from the GPU is a single small tensor: the accepted paths.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from sglang.srt.distributed import get_tp_group
from sglang.srt.managers.utils import GenerationBatchResult
from sglang.srt.mem_cache.common import alloc_token_slots
from sglang.srt.model_executor.forward_batch_info import CaptureHiddenMode, ForwardMode
from sglang.srt.speculative.dflash_worker import DFlashWorker

from ..ddtree.options import read_options
from ..ddtree.refusals import Refusal, refuse
from ..ddtree.widths import WidthTable, width_table
from . import requests
from .candidates import best_tokens
from .commit import Committed, commit_paths, walk_trees
from .context import append_context
from .drafting import Drafter
from .graphs import TreeVerifyInput, VerifyPass, VerifyPasses
from .grow import TreeBuffers, grow_trees
from .metrics import NoMetrics, PrometheusMetrics, Step, StepRecorder
from .outcome import Outcome, append_accepted
from .sampling import adjust_logits, choose
from .timing import StepTimer
from .warmup import warm_up


class DDTreeWorker(DFlashWorker):  # type: ignore[misc]
    """Speculative decoding with draft trees (spec v1: without overlap, tp >= 1, pp = 1, page size 1)."""

    def __init__(self, server_args: Any, **kwargs: Any) -> None:
        block_size = int(server_args.speculative_dflash_block_size)
        self.table: WidthTable = width_table(read_options(block_size=block_size), block_size)
        super().__init__(server_args=_drafter_arguments(server_args, self.table), **kwargs)
        _refuse_late(self.model_runner)
        self._group = get_tp_group()
        self._passes = VerifyPasses(self.model_runner, self.table)
        self._drafter = Drafter(self.draft_model_runner, block_size, self._mask_token_id, self.device)
        self._buffers: dict[int, TreeBuffers] = {}
        self._no_limits = torch.empty((0,), dtype=torch.int32, device=self.device)
        self._metrics = _metrics(server_args, self.tp_rank, block_size)
        self._timer = StepTimer(self._metrics)
        requests.install()
        warm_up(self.table, self.device)

    def forward_batch_generation(self, batch: Any, **kwargs: Any) -> GenerationBatchResult:
        """One scheduler step: prefill as DFLASH does it, decode by trees."""
        if batch.forward_mode.is_extend() or batch.is_extend_in_batch:
            return super().forward_batch_generation(batch, **kwargs)
        return self._decode(batch)

    def _decode(self, batch: Any) -> GenerationBatchResult:
        state = batch.spec_info
        size = batch.batch_size()
        verify = self._passes.activate(size)
        limits = self._accept_limits(batch)
        self._timer.mark()
        hidden = self._draft(batch, state)
        self._timer.mark()
        trees, mask, in_graph = self._build(batch, state, hidden, verify)
        self._timer.mark()
        result = self._verify(batch, trees, mask, in_graph)
        logits = result.logits_output.next_token_logits
        if batch.sampling_info is not None:
            adjust_logits(logits, batch.sampling_info, verify.width)
        sampler = self.model_runner.sampler
        choices = choose(logits, trees.positions.view(-1), batch.sampling_info, sampler, self._group, verify.width)
        path = walk_trees(trees, choices, self.table.block_size, limits)
        self._timer.mark()
        outcome = append_accepted(batch.reqs, path.tolist(), self.table.block_size)
        tokens = self._commit(batch, state, path, outcome, result.logits_output)
        self._timer.mark()
        self._timer.finish()
        fell_back = self._passes.captured and not result.can_run_cuda_graph
        self._metrics.record(Step(outcome.commit_lens, size * (verify.width - 1), fell_back))
        return GenerationBatchResult(
            logits_output=result.logits_output,
            next_token_ids=tokens,
            num_correct_drafts=outcome.total - size,
            num_correct_drafts_per_req_cpu=[count - 1 for count in outcome.commit_lens],
            can_run_cuda_graph=result.can_run_cuda_graph,
        )

    def _accept_limits(self, batch: Any) -> torch.Tensor:
        """Most draft tokens to accept, per request: none for a request with penalties, which depend on every token before.

        Penalties are brought up to date here, for SGLang does that only for decoding without speculation.
        """
        info = batch.sampling_info
        size = len(batch.reqs)
        if info is None or not info.penalizer_orchestrator.is_required:
            if self._no_limits.shape[0] < size:
                self._no_limits = torch.full((2 * size,), self.table.depth, dtype=torch.int32, device=self.device)
            return self._no_limits[:size]
        latest = [req.output_ids[-1] if req.output_ids else req.origin_input_ids[-1] for req in batch.reqs]
        info.penalizer_orchestrator.cumulate_output_tokens(torch.tensor(latest, dtype=torch.int64, device=self.device))
        limits = [0 if requests.is_penalised(req) else self.table.depth for req in batch.reqs]
        return torch.tensor(limits, dtype=torch.int32, device=self.device)

    def _draft(self, batch: Any, state: Any) -> torch.Tensor:
        if state.target_hidden is not None and state.target_hidden.numel():
            self._append_target_hidden_to_draft_kv(batch, state)
        lens = state.draft_seq_lens.to(device=self.device, dtype=torch.int32)
        if self.use_compact_draft_cache:
            lens_cpu = lens.cpu()
            lens_sum = int(lens_cpu.sum())
        else:  # the drafter holds exactly the committed text, whose lengths the CPU knows
            lens_cpu = batch.seq_lens_cpu.to(torch.int32)
            lens_sum = int(lens_cpu.sum())
        embed = self.model_runner.model.get_input_embeddings()
        return self._drafter.hidden_states(batch, state.bonus_tokens, lens, lens_cpu, lens_sum, embed)

    def _build(self, batch: Any, state: Any, hidden: torch.Tensor, verify: VerifyPass) -> tuple[TreeBuffers, torch.Tensor, bool]:
        size, depth, features = hidden.shape
        topk = min(self.table.topk, verify.width - 1)
        best = best_tokens(hidden.reshape(-1, features), self.model_runner.model.lm_head, topk, self._group)
        trees = self._trees(size, verify.width)
        mask, in_graph = verify.mask(size, int(batch.seq_lens_cpu.sum()), self.device)
        shape = (size, depth, best.scores.shape[1])
        grow_trees(best.scores.view(shape), best.ids.view(shape), state.bonus_tokens, batch.seq_lens, trees, mask)
        return trees, mask, in_graph

    def _trees(self, size: int, width: int) -> TreeBuffers:
        buffers = self._buffers.get(width)
        if buffers is None or buffers.tokens.shape[0] < size:
            buffers = self._buffers[width] = TreeBuffers.allocate(max(16, 2 * size), width, self.device)
        return buffers.first(size)

    def _verify(self, batch: Any, trees: TreeBuffers, mask: torch.Tensor, in_graph: bool) -> GenerationBatchResult:
        batch.input_ids = trees.tokens.view(-1)
        batch.out_cache_loc = alloc_token_slots(batch.tree_cache, batch.input_ids.numel())
        batch.forward_mode = ForwardMode.TARGET_VERIFY
        batch.return_hidden_states = False
        batch.spec_info = TreeVerifyInput(
            draft_token=batch.input_ids,
            positions=trees.positions.view(-1),
            draft_token_num=trees.width,
            custom_mask=mask[:1],
            capture_hidden_mode=CaptureHiddenMode.FULL,
            eager=not in_graph,
        )
        result = self.target_worker.forward_batch_generation(batch, is_verify=True)
        if result.logits_output.hidden_states is None:
            raise RuntimeError("DDTREE: the target returned no hidden states at verify; its layers aren't captured")
        return result

    def _commit(self, batch: Any, state: Any, path: torch.Tensor, outcome: Outcome, output: Any) -> torch.Tensor:
        numbers = torch.tensor([outcome.commit_lens, outcome.last_tokens], dtype=torch.int64).to(self.device, non_blocking=True)
        commit_lens, tokens = numbers[0], numbers[1]
        slots = batch.out_cache_loc.view(len(outcome.commit_lens), -1)
        table = batch.req_to_token_pool.req_to_token
        kept = commit_paths(path, commit_lens, outcome.total, slots, batch.seq_lens, batch.req_pool_indices, table)
        batch.token_to_kv_pool_allocator.free(kept.freed)
        batch.out_cache_loc = kept.slots
        batch.seq_lens.add_(commit_lens)
        batch.seq_lens_cpu.add_(torch.tensor(outcome.commit_lens, dtype=batch.seq_lens_cpu.dtype))
        batch.seq_lens_sum = int(batch.seq_lens_cpu.sum())
        self._feed_drafter(batch, state, kept, commit_lens, output.hidden_states.index_select(0, kept.rows))
        output.hidden_states = None  # SGLang would take them for hidden states that a request asked for
        state.bonus_tokens = tokens
        batch.spec_info = state
        batch.forward_mode = ForwardMode.DECODE
        return tokens

    def _feed_drafter(self, batch: Any, state: Any, kept: Committed, commit_lens: torch.Tensor, hidden: torch.Tensor) -> None:
        if self.use_compact_draft_cache:
            state.target_hidden = hidden
            state.ctx_lens = commit_lens.to(torch.int32)
            self._append_target_hidden_to_draft_kv(batch, state)
            return
        append_context(self, hidden, kept.slots, kept.positions, longest=int(batch.seq_lens_cpu.max()) - 1)
        state.draft_seq_lens = batch.seq_lens.to(torch.int32)
        state.ctx_lens = torch.zeros_like(state.draft_seq_lens)
        state.target_hidden = hidden[:0]


def _drafter_arguments(server_args: Any, table: WidthTable) -> Any:
    """The server's arguments as the drafter has to see them: its passes are as wide as the block, not as the tree."""
    arguments = copy.copy(server_args)
    arguments.__dict__.pop("max_speculative_num_draft_tokens", None)  # a cached property of the wide value
    arguments.speculative_num_draft_tokens = table.draft_width
    return arguments


def _refuse_late(model_runner: Any) -> None:
    """What only the loaded target tells."""
    if model_runner.sliding_window_size is not None and model_runner.sliding_window_size > 0:
        refuse(
            Refusal(
                "the target has sliding-window layers: the kernel counts the window by row, not by depth", "a target without them"
            )
        )
    if hasattr(model_runner.attn_backend, "update_mamba_state_after_mtp_verify"):
        refuse(Refusal("the target has recurrent layers, whose state can't branch", "a target without them"))


def _metrics(server_args: Any, tp_rank: int, block_size: int) -> StepRecorder:
    if not server_args.enable_metrics or tp_rank != 0:
        return NoMetrics()
    return PrometheusMetrics({"model_name": str(server_args.served_model_name)}, block_size)
