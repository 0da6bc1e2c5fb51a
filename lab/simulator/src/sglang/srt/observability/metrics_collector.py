"""/metrics: the families and labels of SGLang 0.5.13.post1, moved by what the ranks report."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sglang.srt.observability.exposition import Family, Histogram
from sglang.srt.observability.gauges import GAUGES, RANK_GAUGES, ROUTING_BOUNDS
from sglang.srt.observability.tree_metrics import TreeFamilies

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

_FIRST = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
_WAITED = (0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20, *range(30, 101, 10), *range(200, 1001, 100))
_WAITED_LONG = (1200, 1400, 1600, 1800, 2000, 2500, 3000)
_BETWEEN = (
    0.002,
    0.004,
    0.006,
    0.008,
    0.01,
    0.015,
    0.02,
    0.025,
    0.03,
    0.035,
    0.04,
    0.06,
    0.08,
    0.1,
    0.2,
    0.4,
    0.6,
    0.8,
    1,
    2,
    4,
    6,
    8,
)
# The time between tokens is only known of answers that come in parts; one that isn't streamed comes in parts of this size.
_STREAM_INTERVAL = 50
_WHOLE = (*_FIRST, 600, 1200, 1800, 2400)
_LENGTHS = (100, 300, 500, 700, 1000, 1500, *range(2000, 10001, 1000), *range(12500, 30001, 2500), 35000, 40000)
_TOKENS = (*_LENGTHS, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000, 1000000, 1100000)
_MODES = {"prefill": "prefill_compute", "cached": "prefill_cache", "decode": "decode"}
_GIB = 2**30
_CACHE_BYTES = 61 * 576 * 2  # per token, as the model runner counts


class Metrics:
    """All families of one server."""

    def __init__(self, server_args: ServerArgs, info: Mapping[str, Any], rank0_pid: int) -> None:
        self._lock = threading.Lock()
        self._rank_counters: dict[str, int] = {}
        self._labels = {"engine_type": "unified", "model_name": server_args.served_model_name or ""}
        self._rank_labels = {**self._labels, "moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}
        self.kv_cache_gb = info["max_total_num_tokens"] * _CACHE_BYTES / _GIB
        self._gauges = {name: Family("gauge", name, text) for name, text in GAUGES}
        for family in self._gauges.values():
            family.set(0, self._rank_labels)
        self._set_constants(server_args, info)
        self._special = self._special_gauges(str(rank0_pid))
        self._active = Family("gauge", "http_requests_active", "Number of currently active HTTP requests")
        self._add_histograms()
        self._add_counters()
        self._tree: TreeFamilies | None = None
        if server_args.speculative_algorithm == "DDTREE":
            self._tree = TreeFamilies(self._labels["model_name"], server_args.speculative_num_draft_tokens or 1)

    def _set_constants(self, server_args: ServerArgs, info: Mapping[str, Any]) -> None:
        tokens, page = info["max_total_num_tokens"], server_args.page_size or 1
        self._set("max_total_num_tokens", tokens)
        self._set("page_size", page)
        self._set("num_pages", tokens // page)
        self._set("context_len", info["context_len"])
        self._set("startup_available_gpu_memory_gb", info["available_gb"])
        self._set("new_token_ratio", 0.7)
        self._set("kv_available_tokens", tokens)
        self._set("fwd_occupancy", math.nan)

    def _special_gauges(self, pid: str) -> list[Family]:
        families = []
        for name, text in RANK_GAUGES:
            families.append(Family("gauge", name, text))
            families[-1].set(0, {**self._rank_labels, "pid": pid})
        for which in ("running", "all"):
            text = f"Distribution of routing keys by {which} request count (gt < count <= le)."
            families.append(Family("gauge", f"routing_key_{which}_req_count", text))
            for low, high in pairwise(ROUTING_BOUNDS):
                families[-1].set(0, {**self._rank_labels, "gt": low, "le": high})
        families.append(Family("gauge", "routing_keys_active", "Number of unique routing keys with active requests"))
        families[-1].set(0, {})
        return families

    def _add_histograms(self) -> None:
        self._first_token = Histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", _FIRST)
        self._between = Histogram("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", _BETWEEN)
        self._queued = Histogram("queue_time_seconds", "Histogram of queueing time in seconds.", (*_WAITED, *_WAITED_LONG))
        self._latency = Histogram("e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", _WHOLE)
        self._prompt = Histogram("prompt_tokens_histogram", "Histogram of prompt token length.", _TOKENS)
        text = "Histogram of uncached (compute) prompt token length."
        self._uncached = Histogram("uncached_prompt_tokens_histogram", text, _TOKENS)
        self._generated = Histogram("generation_tokens_histogram", "Histogram of generation token length.", _TOKENS)

    def _add_counters(self) -> None:
        self._passes = _counter("cuda_graph_passes", "Total number of forward passes categorized by CUDA graph.")
        self._realtime = _counter(
            "realtime_tokens",
            "Total number of tokens processed (updated on each log interval). mode: prefill_compute, prefill_cache, decode.",
        )
        self._cpu_seconds = _counter("process_cpu_seconds", "Total CPU time consumed by this process (user + system)")
        self._requests = _counter("http_requests", "Total number of HTTP requests by endpoint and method")
        self._responses = _counter("http_responses", "Total number of HTTP responses by endpoint and status code")
        self._prompt_tokens = _counter("prompt_tokens", "Number of prefill tokens processed.")
        self._generation_tokens = _counter("generation_tokens", "Number of generation tokens processed.")
        self._verify_calls = _counter("spec_verify_calls", "Number of speculative decoding verification calls.")
        self._num_requests = _counter("num_requests", "Number of requests processed.")

    def _set(self, name: str, value: float) -> None:
        self._gauges[name].set(value, self._rank_labels)

    def gauge(self, name: str) -> float:
        """A gauge's present value."""
        return self._gauges[name].get(self._rank_labels)

    def on_request(self, endpoint: str, method: str) -> None:
        """A request came in."""
        with self._lock:
            self._requests.add(1, {"endpoint": endpoint, "method": method})
            self._active.add(1, {"endpoint": endpoint, "method": method})

    def on_response(self, endpoint: str, method: str, status: int) -> None:
        """Its answer's status is known."""
        with self._lock:
            self._responses.add(1, {"endpoint": endpoint, "method": method, "status_code": str(status)})

    def on_finished(self, endpoint: str, method: str) -> None:
        """Its answer is complete."""
        with self._lock:
            self._active.add(-1, {"endpoint": endpoint, "method": method})

    def on_output(self, message: Mapping[str, Any]) -> None:
        """Take over what rank 0 reports."""
        with self._lock:
            for name, value in message["gauges"].items():
                self._set(name, value)
            self._cpu_seconds.set(message["detokenizer_cpu_seconds"], {"component": "detokenizer"})
            if self._tree is not None:
                self._tree.take(message["tree"])
            for name, value in message["counters"].items():
                self._count_rank(name, value - self._rank_counters.get(name, 0))
                self._rank_counters[name] = value

    def _count_rank(self, name: str, grown: int) -> None:
        if grown and name in _MODES:
            self._realtime.add(grown, {**self._rank_labels, "mode": _MODES[name]})
        elif grown:
            self._passes.add(grown, {**self._rank_labels, "mode": name})

    def on_generation(self, answer: Mapping[str, Any], first_token_seconds: float) -> None:
        """One generation is complete."""
        labels, tokens = self._labels, len(answer["output_ids"])
        with self._lock:
            self._first_token.observe(first_token_seconds, labels)
            self._queued.observe(answer["queue_time"], self._rank_labels)
            if tokens > _STREAM_INTERVAL:
                self._between.observe((answer["e2e_latency"] - first_token_seconds) / (tokens - 1), labels, tokens - 1)
            self._latency.observe(answer["e2e_latency"], labels)
            self._prompt.observe(answer["prompt_tokens"], labels)
            self._uncached.observe(answer["prompt_tokens"] - answer["cached_tokens"], labels)
            self._generated.observe(tokens, labels)
            self._prompt_tokens.add(answer["prompt_tokens"], labels)
            self._generation_tokens.add(tokens, labels)
            self._verify_calls.add(answer["spec_verify_ct"], labels)
            self._num_requests.add(1, labels)

    def exposition(self) -> bytes:
        """The text format."""
        families: list[Family | Histogram] = [
            self._first_token,
            self._between,
            self._queued,
            self._latency,
            self._prompt,
            self._uncached,
        ]
        families += [self._generated, self._passes, self._realtime, *self._gauges.values(), self._cpu_seconds]
        families += [self._requests, self._responses, self._prompt_tokens, self._generation_tokens]
        families += [self._verify_calls, self._num_requests, self._active, *self._special]
        families += self._tree.families if self._tree is not None else []
        with self._lock:
            self._cpu_seconds.set(time.process_time(), {"component": "tokenizer"})
            lines = [line for family in families for line in family.lines()]
        return ("\n".join(lines) + "\n").encode()


def _counter(name: str, text: str) -> Family:
    return Family("counter", f"{name}_total", text)
