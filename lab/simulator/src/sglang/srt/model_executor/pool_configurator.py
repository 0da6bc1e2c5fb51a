"""How many tokens the KV cache holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemoryPoolConfig:
    """Size of the pool in tokens."""

    max_total_num_tokens: int

    def __post_init__(self) -> None:
        """Raises RuntimeError in SGLang's words when nothing is left for the cache."""
        if self.max_total_num_tokens <= 0:
            msg = "Not enough memory. Please try to increase --mem-fraction-static."
            raise RuntimeError(msg)


@dataclass(frozen=True)
class PoolConfigurator:
    """A model's cache cost in bytes per token."""

    cell_size: int

    def calculate_pool_sizes(self, available_bytes: int, page_size: int) -> MemoryPoolConfig:
        """Whole pages that fit. Raises RuntimeError when none does."""
        max_total_num_tokens = available_bytes // self.cell_size // page_size * page_size
        return MemoryPoolConfig(max_total_num_tokens=max_total_num_tokens)
