"""The story's plugin, traced and never run: verify sends budget + 1 tokens, both graphs are captured for the block size."""

from __future__ import annotations

from typing import Any

BUDGET = 32


def load() -> None:
    """Registers DDTREE as a DFLASH whose verify input is widened on the way, by replacing its class in SGLang's module."""
    from sglang.srt.speculative.spec_info import SpeculativeAlgorithm
    from sglang.srt.speculative.spec_registry import CustomSpecAlgo

    class NaiveSpec(CustomSpecAlgo):  # type: ignore[misc]
        def is_dflash(self) -> bool:
            return True

        def supports_target_verify_for_draft(self) -> bool:
            return True

        def __getattr__(self, name: str) -> Any:
            return getattr(SpeculativeAlgorithm.DFLASH, name)

    def validate(server_args: Any) -> None:
        from sglang.srt.arg_groups import speculative_hook

        speculative_hook._handle_dflash(server_args)

    def factory(_server_args: Any) -> type:
        import torch
        from sglang.srt.speculative import dflash_worker as dw

        class NaiveDDTreeWorker(dw.DFlashWorker):  # type: ignore[misc]
            def _prepare_for_speculative_decoding(self, batch: Any, draft_input: Any) -> Any:
                real = dw.DFlashVerifyInput
                n = BUDGET + 1

                def widened(*, draft_token: Any, positions: Any, draft_token_num: int, **kw: Any) -> Any:
                    bs = batch.batch_size()
                    t = draft_token.view(bs, -1)
                    q = positions.view(bs, -1)
                    t = torch.cat([t, t[:, -1:].expand(bs, n - t.shape[1])], 1).reshape(-1)
                    q = torch.cat([q, q[:, -1:].expand(bs, n - q.shape[1])], 1).reshape(-1)
                    return real(draft_token=t, positions=q, draft_token_num=n, **kw)

                dw.DFlashVerifyInput = widened
                try:
                    return super()._prepare_for_speculative_decoding(batch, draft_input)
                finally:
                    dw.DFlashVerifyInput = real

        return NaiveDDTreeWorker

    SpeculativeAlgorithm.register("DDTREE", validate_server_args=validate, spec_class=NaiveSpec)(factory)
