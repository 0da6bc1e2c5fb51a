"""Arguments of the server: speculative decoding.

Names, order and defaults are those of SGLang 0.5.13.post1, as its /server_info shows them.
"""

from __future__ import annotations

from dataclasses import dataclass

from sglang.srt.arg_groups.parallel import ParallelArgs


@dataclass
class SpeculativeArgs(ParallelArgs):
    """Speculative decoding."""

    speculative_algorithm: str | None = None
    speculative_draft_model_path: str | None = None
    speculative_draft_model_revision: str | None = None
    speculative_draft_load_format: str | None = None
    speculative_num_steps: int | None = None
    speculative_eagle_topk: int | None = None
    speculative_num_draft_tokens: int | None = None
    speculative_dflash_block_size: int | None = None
    speculative_ddtree_budget: int | None = None
    speculative_ddtree_topk_cap: int | None = None
    speculative_ddtree_budget_schedule: str | None = None
    speculative_accept_threshold_single: float = 1.0
    speculative_accept_threshold_acc: float = 1.0
    speculative_token_map: str | None = None
    speculative_attention_mode: str = "prefill"
    speculative_draft_attention_backend: str | None = None
    speculative_draft_window_size: int | None = None
    speculative_moe_runner_backend: str | None = None
    speculative_moe_a2a_backend: str | None = None
    speculative_draft_model_quantization: str | None = None
    speculative_skip_dp_mlp_sync: bool = False
    speculative_ngram_min_bfs_breadth: int = 1
    speculative_ngram_max_bfs_breadth: int = 10
    speculative_ngram_match_type: str = "BFS"
    speculative_ngram_max_trie_depth: int = 18
    speculative_ngram_capacity: int = 10000000
    speculative_ngram_external_corpus_path: str | None = None
    speculative_ngram_external_sam_budget: int = 0
    speculative_ngram_external_corpus_max_tokens: int = 10000000
    enable_multi_layer_eagle: bool = False
    speculative_adaptive: bool = False
    speculative_adaptive_config: str | None = None
