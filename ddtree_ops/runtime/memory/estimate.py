"""Whether a model, its draft and the KV cache fit on a GPU: an estimate with its arithmetic, calibrated by earlier boots.

SGLang sizes the KV pool so: free memory before the load x mem-fraction-static - weights, divided by the bytes of a token (sglang
0.5.13.post1, model_executor/model_runner_kv_cache_mixin.py, _profile_available_bytes). The draft, graphs and activations have to
live in what the fraction leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

from ddtree_ops.runtime.memory import parts
from ddtree_ops.runtime.memory.parts import GIB
from ddtree_ops.runtime.memory.settings import Measured, MemorySettings
from ddtree_ops.runtime.memory.shape import ModelShape

_SAME_MODEL = 0.25  # a boot whose weights differ by more was one of another model or another number of ranks


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the sum: what, by which formula, GiB of one rank; `measured` GiB of an earlier boot, if there is one."""

    what: str
    formula: str
    gib: float
    measured: float | None = None

    def __str__(self) -> str:
        seen = "" if self.measured is None else f" (measured at an earlier boot: {self.measured:.2f})"
        return f"{self.gib:9.2f} GiB  {self.what} = {self.formula}{seen}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """`tokens`: what the KV pool holds; `pool_gib` may be negative: the weights alone are beyond the fraction.

    `wanted`: context x concurrency in tokens, where both are known. `rest_gib`: what is left of one GPU beside pool, draft,
    graphs and activations; rough. `calibrated`: the release whose boot gave the figures, or empty.
    """

    lines: tuple[Line, ...]
    weights_gib: float
    free_gib: float
    pool_gib: float
    tokens: int
    per_token: int
    wanted: int | None
    rest_gib: float
    calibrated: str


@dataclass(frozen=True, slots=True)
class Model:
    """A model on the host: its shape and the bytes of all its weight files."""

    shape: ModelShape
    file_bytes: int


def estimate(target: Model, draft: Model | None, settings: MemorySettings, measured: Measured | None = None) -> Estimate | None:
    """The estimate of one rank; None if the target's config doesn't tell the size of its KV cache."""
    own_cell = parts.kv_per_token(target.shape, settings)
    if own_cell is None:
        return None
    cell = parts.with_draft(own_cell, target.shape, draft.shape) if draft else own_cell
    weights = parts.weights(target.file_bytes, target.shape, settings) / GIB
    seen = _applicable(measured, weights)
    free = seen.figures.get("free_before", settings.gpu_gib - parts.context_gib(settings))
    used = seen.figures.get("weights", weights)
    pool = free * settings.fraction - used
    tokens = _tokens(pool, cell, settings)
    context = parts.context_gib(settings)
    before = f"{settings.gpu_gib:.2f} - {context:.2f} for CUDA, driver, NCCL"
    pool_formula = f"{free:.2f} x {settings.fraction} - {used:.2f}: {tokens} tokens of {cell} bytes"
    start = [
        Line("free before the load", before, settings.gpu_gib - context, seen.figures.get("free_before")),
        Line("weights", _weights_formula(target, settings), weights, seen.figures.get("weights")),
        Line("KV pool", pool_formula, pool, seen.figures.get("kv")),
    ]
    beside = list(_beside(target, draft, settings, seen, tokens, cell - own_cell))
    rest = free - used - max(0.0, pool) - sum(line.gib if line.measured is None else line.measured for line in beside)
    wanted = settings.context * settings.concurrency if settings.context and settings.concurrency else None
    lines = (*start, *beside, Line("left", "free - weights - pool - the lines above", rest))
    return Estimate(lines, used, free, pool, tokens, cell, wanted, rest, seen.release)


def _applicable(measured: Measured | None, weights: float) -> Measured:
    figure = measured.figures.get("weights") if measured else None
    # Below a tenth of a GiB the log's two decimals say nothing of the proportion.
    near = figure is not None and (abs(figure - weights) <= max(0.1, _SAME_MODEL * weights))
    return measured if measured is not None and near else Measured()


def _tokens(pool_gib: float, cell: int, settings: MemorySettings) -> int:
    tokens = max(0, int(pool_gib * GIB)) // cell
    tokens = min(tokens, settings.max_tokens) if settings.max_tokens else tokens
    return tokens // settings.page * settings.page


def _weights_formula(target: Model, settings: MemorySettings) -> str:
    whole = min(parts.replicated_weights(target.shape, settings.ranks), target.file_bytes) / GIB
    files = target.file_bytes / GIB
    return f"({files:.2f} of files - {whole:.2f}) / {settings.ranks} ranks + {whole:.2f} that every rank holds"


def _beside(
    target: Model, draft: Model | None, settings: MemorySettings, seen: Measured, tokens: int, reserved: int
) -> list[Line]:
    """What lives beside weights and pool. The pool's tokens reserve room for the draft's KV; only what that lacks counts."""
    found: list[Line] = []
    act = parts.activation_per_token(target.shape, draft.shape if draft else None, settings)
    if draft is not None:
        size = parts.draft_weights(draft.file_bytes, draft.shape, settings) / GIB
        found.append(Line("draft weights", "as weights; fc on every rank", size, seen.figures.get("draft_weights")))
        own = parts.kv_per_token(draft.shape, settings) or reserved
        found.append(
            Line("draft KV beyond its reserve", f"{tokens} tokens x ({own} - {reserved})", tokens * (own - reserved) / GIB)
        )
    rows = settings.graph_batch * settings.verify_width
    graphs = (parts.GRAPH_BYTES * (2 if draft else 1) + rows * act) / GIB if settings.graph_batch else 0.0
    known = [seen.figures[name] for name in ("graphs", "draft_graphs") if name in seen.figures]
    found.append(Line("CUDA graphs", f"0.04 each + {rows} tokens x {act} bytes", graphs, sum(known) if known else None))
    found += [Line(what, formula, size / GIB) for what, formula, size in parts.tree_buffers(target.shape, settings)]
    found.append(Line("activations of a prefill", f"{settings.chunk} tokens x {act} bytes", settings.chunk * act / GIB))
    found.append(Line("workspaces", "a fixed amount", parts.FIXED_BYTES / GIB))
    return found
