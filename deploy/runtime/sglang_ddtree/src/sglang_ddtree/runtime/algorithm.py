"""The algorithm DDTREE as SGLang sees it."""

from __future__ import annotations

from typing import Any

from sglang.srt.managers.overlap_utils import FutureMap
from sglang.srt.speculative.spec_info import SpeculativeAlgorithm
from sglang.srt.speculative.spec_registry import CustomSpecAlgo

from .arguments import validate

NAME = "DDTREE"


class DDTreeAlgorithm(CustomSpecAlgo):  # type: ignore[misc]
    """A DFLASH in all that SGLang asks for by `is_dflash()`: layer capture, KV pool sizes, mask at capture, request checks.

    The whole interface of `SpeculativeAlgorithm` is here, also what `CustomSpecAlgo` of 0.5.13.post1 lacks.
    """

    def is_dflash(self) -> bool:
        """SGLang's branches for DFLASH apply."""
        return True

    def supports_target_verify_for_draft(self) -> bool:
        """The draft pass is a verify pass over one block."""
        return True

    def supports_spec_v2(self) -> bool:
        """No overlap worker."""
        return False

    def create_future_map(self, device: Any, req_to_token_pool: Any, needs_cpu_seq_lens: bool = True) -> FutureMap:
        """The scheduler asks for it at start; `CustomSpecAlgo` doesn't have it."""
        return FutureMap(device, self, req_to_token_pool, needs_cpu_seq_lens)

    def get_num_tokens_per_bs_for_target_verify(self, num_draft_tokens: int, is_draft_worker: bool) -> int:  # noqa: ARG002 - SGLang's signature
        """Tokens per request of a captured pass.

        Both workers ask with their own server arguments: the target's say budget + 1 (`arguments.validate`), the drafter's the
        block size (`worker._drafter_arguments`), a schedule's narrower graphs their own width. So the number given is the answer,
        and never one that mixes the two.
        """
        return int(num_draft_tokens)


def register() -> None:
    """Register DDTREE. Raises ValueError or TypeError if SGLang doesn't take it."""

    def worker_class(_server_args: Any) -> type:
        from .worker import DDTreeWorker

        return DDTreeWorker

    SpeculativeAlgorithm.register(NAME, supports_overlap=False, validate_server_args=validate, spec_class=DDTreeAlgorithm)(
        worker_class
    )
