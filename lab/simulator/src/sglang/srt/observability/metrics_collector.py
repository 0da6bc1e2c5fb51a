"""/metrics: the families and labels of SGLang 0.5.13.post1, moved by what the ranks report."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest

from sglang.srt.observability.gauges import GAUGES

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

_FIRST = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
_WHOLE = (*_FIRST, 600, 1200, 1800, 2400)
_LENGTHS = (100, 300, 500, 700, 1000, 1500, *range(2000, 10001, 1000), *range(12500, 30001, 2500), 35000, 40000)
_TOKENS = (*_LENGTHS, 60000, 80000, 100000, 200000, 300000, 400000, 600000, 800000, 1000000, 1100000)
_ROUTING = ("0", "1", "2", "3", "5", "7", "10", "20", "50", "100", "200", "+Inf")
_GIB = 2**30


class Metrics:
    """All families of one server."""

    def __init__(self, server_args: ServerArgs, info: Mapping[str, Any], rank0_pid: int) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._lock = threading.Lock()
        self._rank_counters: dict[str, int] = {}
        self._cpu = 0.0
        self._labels = {"engine_type": "unified", "model_name": server_args.served_model_name or ""}
        self._rank_labels = {**self._labels, "moe_ep_rank": "0", "pp_rank": "0", "tp_rank": "0"}
        self._gauges = {name: self._rank_gauge(name, text) for name, text in GAUGES}
        self.kv_cache_gb = info["max_total_num_tokens"] * 61 * 576 * 2 / _GIB
        self._set_constants(server_args, info)
        self._add_special_gauges(str(rank0_pid))
        self._add_histograms()
        self._add_counters()

    def _rank_gauge(self, name: str, text: str) -> Gauge:
        gauge = Gauge(f"sglang:{name}", text, tuple(self._rank_labels), registry=self.registry)
        gauge.labels(**self._rank_labels)
        return gauge

    def _set_constants(self, server_args: ServerArgs, info: Mapping[str, Any]) -> None:
        tokens = info["max_total_num_tokens"]
        self._set("max_total_num_tokens", tokens)
        self._set("page_size", server_args.page_size or 1)
        self._set("num_pages", tokens // (server_args.page_size or 1))
        self._set("context_len", info["context_len"])
        self._set("startup_available_gpu_memory_gb", info["available_gb"])
        self._set("new_token_ratio", 0.7)
        self._set("kv_available_tokens", tokens)
        self._set("fwd_occupancy", math.nan)

    def _add_special_gauges(self, pid: str) -> None:
        for name, text in (
            ("num_retracted_reqs", "The number of retracted requests."),
            ("num_paused_reqs", "The number of paused requests by async weight sync."),
        ):
            labels = {**self._rank_labels, "pid": pid}
            Gauge(f"sglang:{name}", text, tuple(labels), registry=self.registry).labels(**labels)
        for which in ("running", "all"):
            text = f"Distribution of routing keys by {which} request count (gt < count <= le)."
            names = (*self._rank_labels, "gt", "le")
            gauge = Gauge(f"sglang:routing_key_{which}_req_count", text, names, registry=self.registry)
            for low, high in pairwise(_ROUTING):
                gauge.labels(**self._rank_labels, gt=low, le=high)
        Gauge("sglang:routing_keys_active", "Number of unique routing keys with active requests", registry=self.registry)
        self._active = Gauge(
            "sglang:http_requests_active",
            "Number of currently active HTTP requests",
            ("endpoint", "method"),
            registry=self.registry,
        )

    def _add_histograms(self) -> None:
        self._first_token = self._histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", _FIRST)
        self._latency = self._histogram(
            "e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", _WHOLE
        )
        self._prompt = self._histogram("prompt_tokens_histogram", "Histogram of prompt token length.", _TOKENS)
        self._uncached = self._histogram(
            "uncached_prompt_tokens_histogram", "Histogram of uncached (compute) prompt token length.", _TOKENS
        )
        self._generated = self._histogram("generation_tokens_histogram", "Histogram of generation token length.", _TOKENS)

    def _histogram(self, name: str, text: str, buckets: Sequence[float]) -> Histogram:
        return Histogram(f"sglang:{name}", text, tuple(self._labels), buckets=buckets, registry=self.registry)

    def _add_counters(self) -> None:
        rank, plain = tuple(self._rank_labels), tuple(self._labels)
        self._passes = self._counter(
            "cuda_graph_passes", "Total number of forward passes categorized by CUDA graph.", (*rank, "mode")
        )
        self._realtime = self._counter(
            "realtime_tokens",
            "Total number of tokens processed (updated on each log interval). mode: prefill_compute, prefill_cache, decode.",
            (*rank, "mode"),
        )
        self._cpu_seconds = self._counter(
            "process_cpu_seconds", "Total CPU time consumed by this process (user + system)", ("component",)
        )
        ends = ("endpoint", "method")
        self._requests = self._counter("http_requests", "Total number of HTTP requests by endpoint and method", ends)
        self._responses = self._counter(
            "http_responses", "Total number of HTTP responses by endpoint and status code", (*ends, "status_code")
        )
        self._prompt_tokens = self._counter("prompt_tokens", "Number of prefill tokens processed.", plain)
        self._generation_tokens = self._counter("generation_tokens", "Number of generation tokens processed.", plain)
        self._verify_calls = self._counter("spec_verify_calls", "Number of speculative decoding verification calls.", plain)
        self._num_requests = self._counter("num_requests", "Number of requests processed.", plain)

    def _counter(self, name: str, text: str, labels: Sequence[str]) -> Counter:
        return Counter(f"sglang:{name}", text, labels, registry=self.registry)

    def _set(self, name: str, value: float) -> None:
        self._gauges[name].labels(**self._rank_labels).set(value)

    def gauge(self, name: str) -> float:
        """A gauge's present value."""
        return float(self.registry.get_sample_value(f"sglang:{name}", self._rank_labels) or 0.0)

    def on_request(self, endpoint: str, method: str) -> None:
        """A request came in."""
        self._requests.labels(endpoint, method).inc()
        self._active.labels(endpoint, method).inc()

    def on_response(self, endpoint: str, method: str, status: int) -> None:
        """Its answer's status is known."""
        self._responses.labels(endpoint, method, str(status)).inc()

    def on_finished(self, endpoint: str, method: str) -> None:
        """Its answer is complete."""
        self._active.labels(endpoint, method).dec()

    def on_output(self, message: Mapping[str, Any]) -> None:
        """Take over what rank 0 reports, and count finished generations; health checks don't count."""
        with self._lock:
            for name, value in message["gauges"].items():
                self._set(name, value)
            self._count_rank(message["counters"])
            self._cpu_seconds.labels("detokenizer").inc(max(message["detokenizer_cpu_seconds"] - self._cpu, 0))
            self._cpu = message["detokenizer_cpu_seconds"]

    def _count_rank(self, counters: Mapping[str, int]) -> None:
        modes = {"prefill": "prefill_compute", "cached": "prefill_cache", "decode": "decode"}
        for name, value in counters.items():
            grown = value - self._rank_counters.get(name, 0)
            self._rank_counters[name] = value
            if grown and name in modes:
                self._realtime.labels(**self._rank_labels, mode=modes[name]).inc(grown)
            elif grown:
                self._passes.labels(**self._rank_labels, mode=name).inc(grown)

    def on_generation(self, answer: Mapping[str, Any], first_token_seconds: float) -> None:
        """One generation is complete."""
        labels, tokens = self._labels, len(answer["output_ids"])
        with self._lock:
            self._first_token.labels(**labels).observe(first_token_seconds)
            self._latency.labels(**labels).observe(answer["e2e_latency"])
            self._prompt.labels(**labels).observe(answer["prompt_tokens"])
            self._uncached.labels(**labels).observe(answer["prompt_tokens"] - answer["cached_tokens"])
            self._generated.labels(**labels).observe(tokens)
            self._prompt_tokens.labels(**labels).inc(answer["prompt_tokens"])
            self._generation_tokens.labels(**labels).inc(tokens)
            self._verify_calls.labels(**labels).inc(answer["spec_verify_ct"])
            self._num_requests.labels(**labels).inc()

    def exposition(self) -> bytes:
        """The text format."""
        with self._lock:
            counted = self.registry.get_sample_value("sglang:process_cpu_seconds_total", {"component": "tokenizer"})
            self._cpu_seconds.labels("tokenizer").inc(max(time.process_time() - (counted or 0.0), 0))
            return generate_latest(self.registry)
