"""Metrics that a server shows only after something happened: absent, they are no drift until then.

From SGLang 0.5.13.post1: Python's client shows a series once its labels were first used. Where: managers/tokenizer_manager.py
(`collect_metrics`), observability/metrics_collector.py. The launcher itself lets every server answer once before it is ready, so
that what needs any finished request is expected.
"""

from __future__ import annotations

from collections.abc import Mapping

ANSWERED = "sglang_num_requests_total"  # above 0: at least one request is finished

# By the name of the family as it is stored.
AFTER_A_REQUEST: Mapping[str, str] = dict.fromkeys(
    (
        ANSWERED,
        "sglang_time_to_first_token_seconds",
        "sglang_e2e_request_latency_seconds",
        "sglang_prompt_tokens_total",
        "sglang_generation_tokens_total",
        "sglang_prompt_tokens_histogram",
        "sglang_generation_tokens_histogram",
        "sglang_queue_time_seconds",
        "sglang_per_stage_req_latency_seconds",
        "sglang_realtime_tokens_total",
        "sglang_cuda_graph_passes_total",
        "sglang_http_requests_total",
        "sglang_http_responses_total",
    ),
    "appears with the first finished request",
)
ONCE_IT_HAPPENED: Mapping[str, str] = {
    "sglang_inter_token_latency_seconds": "appears with the first answer in pieces: streamed, or of more than about 50 tokens",
    "sglang_cached_tokens_total": "appears with the first prefix that was found in the cache",
    "sglang_num_aborted_requests_total": "appears with the first aborted request",
    "sglang_num_retracted_requests_total": "appears when a request is first put back for want of KV slots",
    "sglang_num_retracted_input_tokens_total": "appears when a request is first put back for want of KV slots",
    "sglang_num_retracted_output_tokens_total": "appears when a request is first put back for want of KV slots",
    "sglang_evicted_tokens_total": "appears when the prefix cache first gives tokens up",
    "sglang_eviction_duration_seconds": "appears when the prefix cache first gives tokens up",
    "sglang_num_so_requests_total": "appears with the first request for structured output",
    "sglang_grammar_compilation_time_seconds": "appears with the first request for structured output",
}
# By how the names begin.
WITH_SPECULATION = ("sglang_spec_", "sglang_ddtree_")
