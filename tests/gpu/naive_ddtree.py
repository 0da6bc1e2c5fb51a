"""A deliberately wrong DDTREE as an SGLang plugin: verify sends budget + 1 tokens while the graphs are captured for the block.

It reproduces the crash this project began with ("8 must match 33"); the stage `story` serves it beside the right one. It is no
base for anything. It relies on internals of SGLang 0.5.12.post1 and 0.5.13.post1.
"""

from __future__ import annotations

from typing import Any

BUDGET = 32


def load() -> None:
    """The plugin's entry point: register DDTREE."""
    from sglang.srt.arg_groups import speculative_hook
    from sglang.srt.speculative.spec_info import SpeculativeAlgorithm
    from sglang.srt.speculative.spec_registry import CustomSpecAlgo

    class NaiveAlgorithm(CustomSpecAlgo):  # type: ignore[misc]
        """Answers whatever it isn't asked to decide itself as DFLASH would: the graph width among it."""

        def is_dflash(self) -> bool:
            return True

        def supports_target_verify_for_draft(self) -> bool:
            return True

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return getattr(SpeculativeAlgorithm.DFLASH, name)

    register = SpeculativeAlgorithm.register(
        "DDTREE", validate_server_args=speculative_hook._handle_dflash, spec_class=NaiveAlgorithm
    )
    register(lambda _: _worker())


def _worker() -> Any:
    from sglang.srt.speculative import dflash_worker

    class NaiveWorker(dflash_worker.DFlashWorker):  # type: ignore[misc]
        """DFLASH whose verify input is widened to budget + 1 tokens, as if a tree had been built."""

        def _prepare_for_speculative_decoding(self, batch: Any, draft_input: Any) -> None:
            if batch.forward_mode.is_extend() or batch.forward_mode.is_idle():
                return super()._prepare_for_speculative_decoding(batch, draft_input)  # type: ignore[no-any-return]
            original = dflash_worker.DFlashVerifyInput
            dflash_worker.DFlashVerifyInput = _widened(original, batch.batch_size())
            try:
                return super()._prepare_for_speculative_decoding(batch, draft_input)  # type: ignore[no-any-return]
            finally:
                dflash_worker.DFlashVerifyInput = original

    return NaiveWorker


def _widened(original: Any, requests: int) -> Any:
    import torch

    def wide(flat: Any) -> Any:
        rows = flat.view(requests, -1)
        return torch.cat([rows, rows[:, -1:].expand(requests, BUDGET + 1 - rows.shape[1])], 1).reshape(-1)

    def build(*, draft_token: Any, positions: Any, draft_token_num: int, **others: Any) -> Any:
        return original(draft_token=wide(draft_token), positions=wide(positions), draft_token_num=BUDGET + 1, **others)

    return build
