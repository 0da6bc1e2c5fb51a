"""DDTREE's part of SGLang's argument handling: flags, completion, refusals."""

from __future__ import annotations

import argparse
import json
import logging
from typing import Any

from sglang.srt.server_args import ServerArgs

from ..ddtree.drafter_checks import DrafterFacts, drafter_refusals
from ..ddtree.options import DDTreeOptions, OptionError, add_flags, read_options
from ..ddtree.refusals import Refusal, refuse
from ..ddtree.schedule import ScheduleError
from ..ddtree.server_checks import ServerFacts, server_refusals
from ..ddtree.widths import WidthTable, width_table

logger = logging.getLogger(__name__)
_DEFAULT_RUNNING_REQUESTS = 48  # as SGLang does for every speculative algorithm (arg_groups/speculative_hook.py)
_FLAGS_ADDED = "_ddtree_flags_added"


def install_flags() -> None:
    """Make SGLang's parser know DDTREE's flags. Harmless if done twice."""
    original = ServerArgs.add_cli_args
    if getattr(original, _FLAGS_ADDED, False):
        return

    def add_cli_args(parser: argparse.ArgumentParser) -> None:
        original(parser)
        add_flags(parser)

    setattr(add_cli_args, _FLAGS_ADDED, True)
    ServerArgs.add_cli_args = staticmethod(add_cli_args)


def validate(server_args: Any) -> None:
    """Complete and judge the arguments; SGLang calls it from ServerArgs. Raises Refused (status 78)."""
    options = _options(server_args)
    facts = _drafter_facts(server_args)
    block_size = options.block_size or facts.block_size
    if facts.path is None or block_size is None:
        refuse(_no_block_size(facts))
    table = width_table(options, block_size)
    refusals = (*server_refusals(_server_facts(server_args), table), *drafter_refusals(facts, table))
    if refusals:
        refuse(*refusals)
    _complete(server_args, table)


def _options(server_args: Any) -> DDTreeOptions:
    try:
        return read_options(block_size=server_args.speculative_dflash_block_size)
    except (OptionError, ScheduleError) as error:
        refuse(Refusal(str(error), "correct this setting"))


def _no_block_size(facts: DrafterFacts) -> Refusal:
    if facts.path is None:
        return Refusal("there is no drafter", "--speculative-draft-model-path with a DFlash drafter of this target")
    return Refusal(f"the drafter's config in {facts.path} names no block_size", "--speculative-dflash-block-size")


def _complete(server_args: Any, table: WidthTable) -> None:
    """Every width that SGLang derives buffers from: the target's own copy of the arguments says budget + 1."""
    server_args.speculative_num_draft_tokens = table.verify_width
    server_args.speculative_dflash_block_size = table.block_size
    server_args.speculative_num_steps = 1
    server_args.speculative_eagle_topk = 1
    if server_args.max_running_requests is None:
        server_args.max_running_requests = _DEFAULT_RUNNING_REQUESTS
    server_args.disable_overlap_schedule = True
    server_args.enable_mixed_chunk = False
    logger.info(
        "DDTREE: block size %d, budget %d, top-k %d; verify tokens per request by batch size: %s",
        table.block_size,
        table.budget,
        table.topk,
        ", ".join(f"{entry.min_batch}+: {entry.width}" for entry in table.verify),
    )


def _server_facts(server_args: Any) -> ServerFacts:
    prefill, decode = server_args.get_attention_backends()
    return ServerFacts(
        page_size=int(server_args.page_size or 1),
        prefill_backend=str(prefill),
        decode_backend=str(decode),
        dp_attention=bool(server_args.enable_dp_attention),
        pp_size=int(server_args.pp_size),
        two_batch_overlap=bool(server_args.enable_two_batch_overlap),
        deterministic=bool(server_args.enable_deterministic_inference),
        disaggregation=str(server_args.disaggregation_mode),
        adaptive=bool(server_args.speculative_adaptive),
        accept_thresholds=(
            float(server_args.speculative_accept_threshold_single),
            float(server_args.speculative_accept_threshold_acc),
        ),
        num_draft_tokens=server_args.speculative_num_draft_tokens,
        context_parallel=int(server_args.attn_cp_size) > 1,
        hierarchical_cache=bool(server_args.enable_hierarchical_cache),
        returns_hidden_states=bool(server_args.enable_return_hidden_states),
        draft_window=server_args.speculative_draft_window_size,
    )


def _drafter_facts(server_args: Any) -> DrafterFacts:
    from sglang.srt.speculative.dflash_utils import parse_dflash_draft_config

    path = server_args.speculative_draft_model_path
    draft = None if path is None else _config(server_args, path, server_args.speculative_draft_model_revision)
    target = _config(server_args, server_args.model_path, server_args.revision)
    parsed = None if draft is None else parse_dflash_draft_config(draft_hf_config=draft)
    return DrafterFacts(
        path=path,
        architectures=tuple(getattr(draft, "architectures", None) or ()),
        block_size=None if parsed is None else parsed.block_size,
        trained_for_layers=None if parsed is None else parsed.num_target_layers,
        vocab_size=_text(draft, "vocab_size"),
        mask_token_id=None if parsed is None else parsed.mask_token_id,
        hidden_size=_text(draft, "hidden_size"),
        target_architectures=tuple(getattr(target, "architectures", None) or ()),
        target_layers=_text(target, "num_hidden_layers"),
        target_vocab_size=_text(target, "vocab_size"),
        target_hidden_size=_text(target, "hidden_size"),
    )


def _config(server_args: Any, path: str, revision: str | None) -> Any:
    """A model's config, or None: what can't be read is SGLang's to complain about, when it loads the model."""
    from sglang.srt.utils.hf_transformers_utils import get_config

    try:
        return get_config(
            path,
            trust_remote_code=server_args.trust_remote_code,
            revision=revision,
            model_override_args=json.loads(server_args.json_model_override_args),
        )
    except Exception as error:  # noqa: BLE001 - remote code may raise anything
        logger.warning("DDTREE: the config in %s can't be read: %s", path, error)
        return None


def _text(config: Any, name: str) -> int | None:
    """A number of the language model's part of a config."""
    inner = getattr(config, "text_config", None)
    value = getattr(inner if inner is not None else config, name, None)
    return value if isinstance(value, int) else None
