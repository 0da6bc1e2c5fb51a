"""The speculative worker: drafts a block (DFLASH) or a tree (DDTREE), lets the target verify it, commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sglang.simulation.console import log
from sglang.simulation.context import RankContext
from sglang.srt.managers.schedule_batch import ForwardBatch, ForwardMode, GenerationBatchResult, Req, ScheduleBatch
from sglang.srt.managers.tp_worker import TpModelWorker
from sglang.srt.models.dflash import draft_candidates
from sglang.srt.speculative.ddtree import Node, accept, build_tree
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm, block_size

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

_DEFAULT_TOPK = 8
_PADDING = -1  # a node that nobody accepts, where a tree has fewer nodes than its budget


class DFlashWorker:
    """Draft worker beside the target's worker."""

    def __init__(self, server_args: ServerArgs, context: RankContext, target_worker: TpModelWorker) -> None:
        self.server_args = server_args
        self.context = context
        self.target_worker = target_worker
        self.algorithm = SpeculativeAlgorithm.from_string(server_args.speculative_algorithm)
        self.draft_worker = TpModelWorker(
            server_args,
            context,
            pool=target_worker.model_runner.memory_pool_config,
        )
        self._said_verified = False
        if context.rank == 0:
            self._log_ready()

    def _log_ready(self) -> None:
        backend = self.server_args.speculative_draft_attention_backend or self.server_args.attention_backend
        log(
            f"Initialized DFLASH draft runner. attention_backend={backend}, model=DFlashDraftModel, "
            f"block_size={block_size(self.server_args)}, "
            f"draft_window_size={self.server_args.speculative_draft_window_size}, compact_cache=False"
        )
        log("DFLASH draft runner ready. mask_token=<|MASK|>, mask_token_id=3, mask_token_id_override=3")
        log("DFLASH fused KV materialization enabled. n_layers=2, num_kv_heads=1, head_dim=64")

    def forward_batch_generation(self, batch: ScheduleBatch) -> GenerationBatchResult:
        """Prefill as the target does; decode by draft and verify. A committed row may hold several tokens."""
        if batch.forward_mode is ForwardMode.EXTEND:
            return self.target_worker.forward_batch_generation(batch)
        verify_input, trees = self._prepare_for_speculative_decoding(batch)
        batch_result = self.target_worker.forward_batch_generation(batch, verify_input)
        rows = tuple(accept(tree, row) for tree, row in zip(trees, batch_result.next_token_ids, strict=True))
        correct = tuple(len(row) - 1 for row in rows)
        if self.context.rank == 0 and not self._said_verified:
            self._said_verified = True
            log(f"{self.algorithm.name} verify completed. num_correct_drafts_per_req={list(correct)}")
        return GenerationBatchResult(tuple(map(tuple, rows)), batch_result.can_run_cuda_graph, correct)

    def _prepare_for_speculative_decoding(self, batch: ScheduleBatch) -> tuple[ForwardBatch, list[list[Node]]]:
        """The target's input (last committed token and drafts per request) and the tree of each request."""
        self._check_draft_state()
        width = self._verify_width(batch.batch_size())
        ids: list[int] = []
        positions: list[int] = []
        trees = []
        for req in batch.reqs:
            tree = self._draft(req, width - 1)
            trees.append(tree)
            done = len(req.output)
            ids += [req.output[-1], *(node.token for node in tree)]
            positions += [done, *(done + node.depth for node in tree)]
        return ForwardBatch(batch.reqs, ForwardMode.TARGET_VERIFY, ids, positions, width), trees

    def _check_draft_state(self) -> None:
        """SIM_FAULT=raise_rank: one rank fails alone, with a chained exception."""
        if self.context.settings.fault("raise_rank", self.context.phase, self.context.rank):
            try:
                dict[str, object]()["missing-draft-state"]
            except KeyError as e:
                raise RuntimeError("draft state lost between steps") from e

    def _verify_width(self, batch_size: int) -> int:
        """Tokens per request. A budget schedule goes by the captured size that serves the batch, as the graph does."""
        graphs = self.target_worker.model_runner.graph_runner
        padded = graphs.padded_batch_size(batch_size) if graphs else None
        return self.algorithm.get_num_tokens_per_bs_for_target_verify(self.server_args, padded or batch_size)

    def _draft(self, req: Req, budget: int) -> list[Node]:
        depth = block_size(self.server_args) - 1
        is_tree = self.algorithm.is_ddtree()
        cap = min(self.server_args.speculative_ddtree_topk_cap or _DEFAULT_TOPK, budget) if is_tree else 1
        low = self.context.settings.fault("low_acceptance")
        hits = int(low.amount) if low else 100
        rows = [draft_candidates(req, len(req.output) + step, cap, hits) for step in range(depth)]
        tree = build_tree(rows, budget)
        return tree + [Node(_PADDING, -1, 1)] * (budget - len(tree))
