"""The server arguments and GPUs that a memory estimate needs, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """`gpu_gib`: memory of one GPU as nvidia-smi shows it (the smallest of them). `fraction`: --mem-fraction-static.

    `context` in tokens of one request; `concurrency` is --max-running-requests, `graph_batch` --cuda-graph-max-bs. `verify_width`
    and `block` are tokens per request of the verify and the draft pass (1 without speculation). `kv_bytes`: bytes per value of
    the KV cache.
    """

    gpu_gib: float
    fraction: float
    ranks: int = 1
    pipeline: int = 1
    context: int | None = None
    concurrency: int | None = None
    graph_batch: int = 0
    verify_width: int = 1
    block: int = 1
    chunk: int = 8192
    kv_bytes: float = 2.0
    page: int = 1
    max_tokens: int | None = None
    triton: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of an earlier boot of this host (`units/memory_lines.py`), and of which release. Empty: there was none."""

    release: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
