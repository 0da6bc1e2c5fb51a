"""What rank 0 says and counts about its batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sglang.simulation.console import log

if TYPE_CHECKING:
    from sglang.srt.managers.schedule_batch import GenerationBatchResult, Req, ScheduleBatch


class SchedulerMetrics:
    """Gauges (as /metrics shows them) and the Prefill and Decode lines. Speculative gauges are 0 while idle."""

    def __init__(self, max_total_num_tokens: int, decode_log_interval: int, proposed_per_step: int) -> None:
        self._capacity = max_total_num_tokens
        self._interval = decode_log_interval
        self._proposed = proposed_per_step
        self._prefilled_at = self._decoded_at = time.monotonic()
        self._steps = self._passes = self._tokens = self._correct = 0
        self.gauges: dict[str, float] = {}
        self.counters = {"prefill_none": 0, "decode_cuda_graph": 0, "decode_none": 0, "prefill": 0, "cached": 0, "decode": 0}

    def prefill(self, batch: ScheduleBatch, running: int, queued: int, used: int) -> None:
        """Report a prefill before it runs."""
        now = time.monotonic()
        cached = sum(req.cached for req in batch.reqs)
        new = sum(len(req.prompt) for req in batch.reqs) - cached
        rate = new / max(now - self._prefilled_at, 1e-3)
        self._prefilled_at = now
        self.counters["prefill_none"] += 1
        self.counters["prefill"] += new
        self.counters["cached"] += cached
        self.gauges["cache_hit_rate"] = cached / max(new + cached, 1)
        log(
            f"Prefill batch, #new-seq: {batch.batch_size()}, #new-token: {new}, #cached-token: {cached}, "
            f"token usage: {used / self._capacity:.2f}, #running-req: {running}, #queue-req: {queued}, "
            f"#pending-token: 0, cuda graph: False, input throughput (token/s): {rate:.2f}"
        )

    def decode(self, reqs: Sequence[Req], result: GenerationBatchResult, queued: int) -> None:
        """Count a decode pass; every decode_log_interval passes, report."""
        self._steps += 1
        self._passes += len(reqs)
        self._tokens += sum(map(len, result.next_token_ids))
        self._correct += sum(result.num_correct_drafts)
        self.counters["decode_cuda_graph" if result.can_run_cuda_graph else "decode_none"] += 1
        self.counters["decode"] += sum(map(len, result.next_token_ids))
        used = sum(len(req.prompt) + len(req.output) for req in reqs)
        self.gauges.update(num_running_reqs=len(reqs), num_queue_reqs=queued, num_used_tokens=used)
        self.gauges.update(token_usage=used / self._capacity, is_cuda_graph=float(result.can_run_cuda_graph))
        if self._steps >= self._interval:
            self._report(reqs, result, queued, used)

    def _report(self, reqs: Sequence[Req], result: GenerationBatchResult, queued: int, used: int) -> None:
        now = time.monotonic()
        rate = self._tokens / max(now - self._decoded_at, 1e-3)
        text = f"Decode batch, #running-req: {len(reqs)}, #token: {used}, token usage: {used / self._capacity:.2f}, "
        if self._proposed:
            length = (self._correct + self._passes) / self._passes
            share = self._correct / (self._passes * self._proposed)
            text += f"accept len: {length:.2f}, accept rate: {share:.2f}, "
            self.gauges.update(spec_accept_length=length, spec_accept_rate=share)
        log(f"{text}cuda graph: {result.can_run_cuda_graph}, gen throughput (token/s): {rate:.2f}, #queue-req: {queued}")
        self.gauges["gen_throughput"] = rate
        self._decoded_at = now
        self._steps = self._passes = self._tokens = self._correct = 0

    def idle(self) -> None:
        """Nothing runs any more."""
        self._decoded_at = time.monotonic()
        self._steps = self._passes = self._tokens = self._correct = 0
        self.gauges = dict.fromkeys(self.gauges, 0.0)
