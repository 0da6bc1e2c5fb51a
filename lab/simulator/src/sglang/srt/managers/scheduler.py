"""A rank's scheduler: takes requests, forms batches, runs them, hands out tokens. The same on every rank."""

from __future__ import annotations

import os
import signal
import socket
import time
from typing import TYPE_CHECKING, Any

from sglang.simulation import wire
from sglang.simulation.bars import abandon_open_bars
from sglang.simulation.console import exception_text, log, set_rank_prefix, write
from sglang.simulation.context import RankContext
from sglang.simulation.moments import note
from sglang.simulation.process import set_title
from sglang.srt.managers.schedule_batch import ForwardMode, GenerationBatchResult, Req, ScheduleBatch
from sglang.srt.managers.tp_worker import TpModelWorker
from sglang.srt.mem_cache.radix_cache import RadixCache
from sglang.srt.model_loader.config import missing_file
from sglang.srt.observability.scheduler_metrics import SchedulerMetrics
from sglang.srt.observability.tree_metrics import TreeCounts
from sglang.srt.speculative.dflash_worker import DFlashWorker
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm
from sglang.srt.utils.watchdog import start_watchdog, warn_of_open_group

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

_CONTEXT_LENGTH = 8192


class Scheduler:
    """One rank. Rank 0 alone talks to the tokenizer manager (`requests`) and the detokenizer (`outputs`)."""

    def __init__(
        self,
        server_args: ServerArgs,
        context: RankContext,
        requests: socket.socket,
        outputs: socket.socket,
    ) -> None:
        self.server_args = server_args
        self.context = context
        self.requests = requests
        self.outputs = outputs
        self.waiting_queue: list[Req] = []
        self.running: list[Req] = []
        self.forward_ct = 0
        self.init_model_worker()
        self.init_cache()

    def init_model_worker(self) -> None:
        """Target and, if there is one, draft worker."""
        self.init_tp_model_worker()
        self.maybe_init_draft_worker()

    def init_tp_model_worker(self) -> None:
        """The target's worker."""
        worker_kwargs: dict[str, Any] = {"server_args": self.server_args, "context": self.context}
        self.tp_worker = TpModelWorker(**worker_kwargs)
        self.model_worker: TpModelWorker | DFlashWorker = self.tp_worker

    def maybe_init_draft_worker(self) -> None:
        """The speculative worker, where an algorithm is set."""
        if SpeculativeAlgorithm.from_string(self.server_args.speculative_algorithm).is_none():
            return
        draft_worker_kwargs: dict[str, Any] = {"server_args": self.server_args, "context": self.context}
        self.draft_worker = DFlashWorker(**draft_worker_kwargs, target_worker=self.tp_worker)
        self.model_worker = self.draft_worker

    def init_cache(self) -> None:
        """Prefix cache and counters, and the lines that close the load."""
        args, free = self.server_args, self.context.gpu.available
        self.max_total_num_tokens = self.tp_worker.model_runner.memory_pool_config.max_total_num_tokens
        self.max_running_requests = args.max_running_requests or 2048
        self.context_len = args.context_length or _CONTEXT_LENGTH
        self.tree_cache = RadixCache(enabled=not args.disable_radix_cache)
        proposed = (args.speculative_num_draft_tokens or 1) - 1 if args.speculative_algorithm else 0
        self.metrics = SchedulerMetrics(self.max_total_num_tokens, args.decode_log_interval, proposed)
        self.tree_counts = TreeCounts(moves=self.context.settings.fault("counters_stuck") is None)
        if self.context.rank == 0:
            log(
                f"max_total_num_tokens={self.max_total_num_tokens}, chunked_prefill_size={args.chunked_prefill_size}, "
                f"max_prefill_tokens={args.max_prefill_tokens}, max_running_requests={self.max_running_requests}, "
                f"context_len={self.context_len}, available_gpu_mem={free:.2f} GB"
            )
        log(
            "Tree cache initialized: source=default impl=RadixCache hybrid_swa=False hybrid_ssm=False "
            "hierarchical=False streaming_wrapped=False"
        )

    def run_event_loop(self) -> None:
        """Serve for ever."""
        dispatch_event_loop(self)

    def event_loop_normal(self) -> None:
        """Receive, run one batch, hand out; again and again."""
        while True:
            self.process_input_requests(self.recv_requests())
            batch = self.get_next_batch_to_run()
            if batch is not None:
                result = self.run_batch(batch)
                self.process_batch_result(batch, result)

    def recv_requests(self) -> list[dict[str, Any]]:
        """New messages, on every rank the same. Waits for one if there is nothing to run."""
        messages: list[dict[str, Any]] = []
        group = self.context.group
        if group.rank == 0:
            idle = not self.running and not self.waiting_queue
            while group.wait_readable(self.requests, None if idle and not messages else 0):
                messages.append(wire.receive(self.requests))
        received: list[dict[str, Any]] = group.broadcast(messages)
        return received

    def process_input_requests(self, messages: list[dict[str, Any]]) -> None:
        """Requests into the queue; cache flushes and aborts at once."""
        for message in messages:
            if "flush_cache" in message:
                self.tree_cache.reset()
            elif "abort" in message:
                self.waiting_queue = [req for req in self.waiting_queue if req.rid != message["abort"]]
                self.running = [req for req in self.running if req.rid != message["abort"]]
            else:
                settings = self.context.settings
                wrong, other = settings.fault("wrong_answers") is not None, settings.fault("other_answers")
                parts_at = int(other.amount) if other else None
                self.waiting_queue.append(Req.from_message(message, wrong_answers=wrong, parts_at=parts_at))

    def get_next_batch_to_run(self) -> ScheduleBatch | None:
        """New requests first, as far as there is room; else a step for those that run."""
        room = self.max_running_requests - len(self.running)
        if self.waiting_queue and room > 0:
            new, self.waiting_queue = self.waiting_queue[:room], self.waiting_queue[room:]
            for req in new:
                req.leave_queue()
                req.cached = self.tree_cache.match_and_insert(req.prompt)
            if self.context.rank == 0:
                self.metrics.prefill(
                    ScheduleBatch(tuple(new), ForwardMode.EXTEND), len(self.running), len(self.waiting_queue), self._used()
                )
            return ScheduleBatch(tuple(new), ForwardMode.EXTEND)
        return ScheduleBatch(tuple(self.running), ForwardMode.DECODE) if self.running else None

    def _used(self) -> int:
        return sum(len(req.prompt) + len(req.output) for req in self.running)

    def run_batch(self, batch: ScheduleBatch) -> GenerationBatchResult:
        """One forward pass."""
        self.forward_ct += 1
        if batch.forward_mode is ForwardMode.DECODE:
            self._note_phase(batch)
        batch_result = self.model_worker.forward_batch_generation(
            batch,
        )
        return batch_result  # noqa: RET504 - the line above stands in recorded tracebacks

    def _note_phase(self, batch: ScheduleBatch) -> None:
        fresh = [req for req in batch.reqs if len(req.output) == 1]
        self.context.served += sum(req.phase == "serving" for req in fresh)
        self.context.phase = "serving" if any(req.phase == "serving" for req in batch.reqs) else "warmup"

    def process_batch_result(self, batch: ScheduleBatch, result: GenerationBatchResult) -> None:
        """Commit the tokens, and hand them out from rank 0."""
        speculative = bool(result.num_correct_drafts)
        committed = []
        for index, req in enumerate(batch.reqs):
            before = len(req.output)
            for token in result.next_token_ids[index]:
                req.append(token)
            if speculative:
                req.verify_ct += 1
                req.correct_drafts += len(req.output) - before - 1
                committed.append(len(req.output) - before)
        running = [*self.running, *batch.reqs] if batch.forward_mode is ForwardMode.EXTEND else self.running
        if self.context.rank == 0 and batch.forward_mode is ForwardMode.DECODE:
            self.metrics.decode(batch.reqs, result, len(self.waiting_queue))
        if committed:
            self._count_step(committed, result)
        self.running = [req for req in running if req.finish_reason is None]
        if self.context.rank == 0:
            if not self.running and not self.waiting_queue:
                self.metrics.idle()
            self._hand_out(batch)

    def _count_step(self, committed: list[int], result: GenerationBatchResult) -> None:
        algorithm = SpeculativeAlgorithm.from_string(self.server_args.speculative_algorithm)
        width = algorithm.get_num_tokens_per_bs_for_target_verify(self.server_args, len(committed))
        seconds = 1.15 / self.context.settings.tokens_per_second
        fell_back = not (result.can_run_cuda_graph or self.server_args.disable_cuda_graph)
        self.tree_counts.step(committed, len(committed) * (width - 1), seconds, fell_back=fell_back)

    def _hand_out(self, batch: ScheduleBatch) -> None:
        wire.send(
            self.outputs,
            {
                "reqs": [
                    {
                        "rid": req.rid,
                        "output_ids": req.output,
                        "finish_reason": req.finish_reason,
                        "prompt_tokens": len(req.prompt),
                        "cached_tokens": req.cached,
                        "spec_verify_ct": req.verify_ct,
                        "correct_drafts": req.correct_drafts,
                        "queue_time": req.queue_time,
                    }
                    for req in batch.reqs
                ],
                "gauges": self.metrics.gauges,
                "counters": self.metrics.counters,
                "tree": self.tree_counts.message,
            },
        )


def dispatch_event_loop(scheduler: Scheduler) -> None:
    """The loop that fits the arguments; here there is one."""
    scheduler.event_loop_normal()


def run_scheduler_process(
    server_args: ServerArgs, context: RankContext, requests: socket.socket, outputs: socket.socket, ready: socket.socket
) -> None:
    """A rank's life. An exception is logged as one record and ends the server by SIGQUIT to the parent."""
    write("flashinfer.comm is not available, falling back to standard implementation\n")
    time.sleep(context.settings.phase_seconds["arguments"] * 0.6)
    suffix = f"_TP{context.rank}" if context.size > 1 else ""
    set_title(f"sglang::scheduler{suffix}")
    set_rank_prefix(f" TP{context.rank}" if context.size > 1 else "")
    _note_generation_config(server_args.speculative_draft_model_path)
    try:
        scheduler = Scheduler(
            server_args,
            context,
            requests,
            outputs,
        )
        wire.send(
            ready,
            {
                "status": "ready",
                "max_total_num_tokens": scheduler.max_total_num_tokens,
                "context_len": scheduler.context_len,
                "weight_gb": round(scheduler.tp_worker.model_runner.weight_gb, 2),
                "available_gb": context.gpu.available,
            },
        )
        start_watchdog(scheduler)
        scheduler.run_event_loop()
    except Exception:  # noqa: BLE001 - as SGLang: whatever it is ends the server
        log(f"Scheduler hit an exception: {exception_text()}")
        note(context.settings.moments, "crash")
        context.group.abandon()
        abandon_open_bars()
        os.kill(os.getppid(), signal.SIGQUIT)
    warn_of_open_group(context)


def _note_generation_config(draft_path: str | None) -> None:
    name = "generation_config.json"
    if draft_path and not os.path.exists(f"{draft_path}/{name}"):  # noqa: PTH110
        reason = missing_file(draft_path, name)
        log(f"Failed to load generation config for {draft_path}: {reason}. Proceeding without generation config.")
