"""The KV cache's part of a model runner."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sglang.simulation.console import log
from sglang.simulation.context import RankContext, sleep_until
from sglang.srt.model_executor.pool_configurator import MemoryPoolConfig, PoolConfigurator

if TYPE_CHECKING:
    from sglang.srt.server_args import ServerArgs

GIB = 2**30
# Bytes per token and rank of the target's cache (Kimi K2.6's MLA: 61 layers x 576 values x 2 bytes) and the draft's.
TARGET_CELL = 61 * 576 * 2
DRAFT_CELL = TARGET_CELL // 12
_WORKSPACE_GB = 0.05  # what attention takes besides weights and cache


class ModelRunnerKVCacheMixin:
    """Sizes and allocates the cache."""

    server_args: ServerArgs
    context: RankContext
    is_draft_worker: bool
    memory_pool_config: MemoryPoolConfig

    def init_memory_pool(self, pre_model_load_memory: float) -> None:
        """Size the target's cache from what --mem-fraction-static leaves; the draft's follows the target's."""
        began = time.monotonic()
        if not self.is_draft_worker:
            self.memory_pool_config = self._resolve_memory_pool_config(pre_model_load_memory)
            log(
                "Max concurrent requests (per dp worker) from the finalized token capacity: "
                f"max_num_reqs={self.server_args.max_running_requests or 2048}."
            )
            self.context.enter("kv_cache")
        sleep_until(began + self.context.seconds("kv_cache", is_draft=self.is_draft_worker))
        tokens = self.memory_pool_config.max_total_num_tokens
        size = tokens * (DRAFT_CELL if self.is_draft_worker else TARGET_CELL) / GIB
        self.context.gpu.allocate(size)
        log(
            f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {tokens}, "
            f"K size: {size / 2:.2f} GB, V size: {size / 2:.2f} GB"
        )
        log(f"Memory pool end. avail mem={self.context.gpu.available:.2f} GB")

    def _resolve_memory_pool_config(self, pre_model_load_memory: float) -> MemoryPoolConfig:
        fraction = self.server_args.mem_fraction_static or 0.0
        rest = self.context.gpu.available - pre_model_load_memory * (1 - fraction) - _WORKSPACE_GB
        available_bytes = int(rest * GIB)
        page_size = self.server_args.page_size or 1
        configurator = PoolConfigurator(TARGET_CELL + (DRAFT_CELL if self.context.has_draft else 0))
        config = configurator.calculate_pool_sizes(available_bytes, page_size)
        limit = self.server_args.max_total_tokens
        return MemoryPoolConfig(min(config.max_total_num_tokens, limit)) if limit else config
