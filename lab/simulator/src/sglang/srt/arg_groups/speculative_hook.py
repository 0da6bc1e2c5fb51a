"""Checks of the speculative arguments, in the words of SGLang 0.5.13.post1 (DFLASH) and in theirs for DDTREE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sglang.simulation.console import log
from sglang.srt.model_loader.config import read_config
from sglang.srt.speculative.spec_info import DEFAULT_DDTREE_BUDGET, SpeculativeAlgorithm, parse_budget_schedule

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

_FALLBACK_BLOCK_SIZE = 16


def handle_speculative_decoding(server_args: ServerArgs) -> None:
    """Check and complete the speculative arguments. Raises ValueError."""
    if server_args.speculative_draft_model_path is not None and server_args.speculative_draft_model_revision is None:
        server_args.speculative_draft_model_revision = "main"
    if server_args.speculative_moe_runner_backend is None:
        server_args.speculative_moe_runner_backend = server_args.moe_runner_backend
    if server_args.speculative_algorithm is None:
        return
    server_args.speculative_algorithm = server_args.speculative_algorithm.upper()
    algo = SpeculativeAlgorithm.from_string(server_args.speculative_algorithm)
    _handle_block_drafter(server_args, algo.name)
    if algo.is_ddtree():
        _handle_ddtree(server_args)


def _handle_block_drafter(server_args: ServerArgs, name: str) -> None:
    if server_args.enable_dp_attention:
        raise ValueError(f"Currently {name} speculative decoding does not support dp attention.")
    if server_args.pp_size != 1:
        raise ValueError(f"Currently {name} speculative decoding only supports pp_size == 1.")
    if server_args.speculative_draft_model_path is None:
        raise ValueError(f"{name} speculative decoding requires setting --speculative-draft-model-path.")
    server_args.speculative_num_steps = 1
    server_args.speculative_eagle_topk = 1
    _resolve_block_size(server_args, name)
    if server_args.max_running_requests is None:
        server_args.max_running_requests = 48
        log(
            "Max running requests is reset to 48 for speculative decoding. You can override this by explicitly setting "
            "--max-running-requests."
        )
    server_args.disable_overlap_schedule = True
    log("Overlap scheduler is disabled when using DFLASH speculative decoding (spec v2 is not supported yet).")


def _resolve_block_size(server_args: ServerArgs, name: str) -> None:
    size = server_args.speculative_dflash_block_size
    if size is not None:
        if size <= 0:
            raise ValueError(f"{name} requires --speculative-dflash-block-size to be positive, got {size}.")
        if server_args.speculative_num_draft_tokens not in (None, size):
            raise ValueError(
                "Both --speculative-num-draft-tokens and --speculative-dflash-block-size are set but they differ. "
                f"For {name} they must match. "
                f"speculative_num_draft_tokens={server_args.speculative_num_draft_tokens}, "
                f"speculative_dflash_block_size={size}."
            )
        server_args.speculative_num_draft_tokens = size
    if server_args.speculative_num_draft_tokens is None:
        server_args.speculative_num_draft_tokens = _draft_block_size(server_args)


def _draft_block_size(server_args: ServerArgs) -> int:
    try:
        config = read_config(server_args.speculative_draft_model_path or "")
        size = config.get("block_size", config.get("dflash_config", {}).get("block_size"))
        if isinstance(size, int) and size > 0:
            return size
    except (OSError, ValueError) as error:
        log(
            "Failed to infer DFLASH block_size from draft model config; "
            f"defaulting speculative_num_draft_tokens to {_FALLBACK_BLOCK_SIZE}. Error: {error}"
        )
    log(f"speculative_num_draft_tokens is not set; defaulting to {_FALLBACK_BLOCK_SIZE} for DFLASH.")
    return _FALLBACK_BLOCK_SIZE


def _handle_ddtree(server_args: ServerArgs) -> None:
    if server_args.page_size not in (None, 1):
        raise ValueError(f"DDTREE speculative decoding only supports page_size == 1, got {server_args.page_size}.")
    if server_args.speculative_ddtree_budget is None:
        server_args.speculative_ddtree_budget = DEFAULT_DDTREE_BUDGET
    if server_args.speculative_ddtree_budget < 1:
        raise ValueError(
            f"DDTREE requires --speculative-ddtree-budget to be positive, got {server_args.speculative_ddtree_budget}."
        )
    cap = server_args.speculative_ddtree_topk_cap
    if cap is not None and cap < 1:
        raise ValueError(f"DDTREE requires --speculative-ddtree-topk-cap to be positive, got {cap}.")
    parse_budget_schedule(server_args.speculative_ddtree_budget_schedule)
