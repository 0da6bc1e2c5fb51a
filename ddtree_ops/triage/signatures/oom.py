"""GPU memory ran out; which kind depends on what the memory was for.

Only the allocators' own words count: `(e.g., OOM)`, Triton's `out of resource` and SGLang's `Prefill out of memory` (its pool
of KV slots) are something else.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ddtree_ops.triage.block import Device
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Finding
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through

# torch: c10/cuda/CUDACachingAllocator.cpp (1.x and 2.x), the CUDA runtime's error 2, cuBLAS' handle, NCCL's report of error 2,
# XLA's allocator (jax)
_MESSAGE = re.compile(
    r"(?:CUDA|HIP) out of memory\b|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation"
    r"|CUBLAS_STATUS_ALLOC_FAILED|Cuda failure (?:2 )?'out of memory'"
    r"|RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate request for)"
)
# Others have a class of that name too (ray, numba): theirs is the host's memory, or says so in its message.
_TYPE = re.compile(r"(?:(?:torch|cupy)(?:\.\w{1,40}){0,4}\.)?OutOfMemoryError$")
_SIZE = r"(?P<{}>(?<![\d.])[\d.]{{1,20}} ?[KMGT]?i?B)"
_ASKED = re.compile(r"Tried to allocate " + _SIZE.format("size"))
_GPU = re.compile(r"GPU (?P<gpu>\d{1,4})\b")
_TOTAL = re.compile(_SIZE.format("size") + r" total capacity|total capacity of " + _SIZE.format("size2"))
_FREE = re.compile(r"of which " + _SIZE.format("size") + r" is free|" + _SIZE.format("size2") + r" free")
_OWN = re.compile(r"this process has " + _SIZE.format("size") + r" memory in use")
_UNUSED = re.compile(_SIZE.format("size") + r" is reserved by PyTorch but unallocated")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

# SGLang's and vLLM's names, TensorRT-LLM's `load_single_module` (_torch/models/modeling_utils.py)
_LOADING = frozenset(
    {
        "create_weights",
        "load_model",
        "load_weights",
        "process_weights_after_loading",
        "weight_loader",
        "load_single_module",
        "copy_weight",
    }
)
# A bar that TensorRT-LLM, SGLang and vLLM draw while they load; a traceback may follow on its line
_LOADING_BAR = re.compile(r"Loading (?:weights|safetensors checkpoint|pt checkpoint|model)\b.{0,200}%\|", re.IGNORECASE)
_BY_PHASE = {
    FailurePhase.DISTRIBUTED_INIT: Kind.OOM_WEIGHTS,
    FailurePhase.WEIGHTS: Kind.OOM_WEIGHTS,
    FailurePhase.GRAPH_CAPTURE: Kind.OOM_GRAPH_CAPTURE,
}
_WHEN = {
    FailurePhase.DISTRIBUTED_INIT: "before the weights were loaded",
    FailurePhase.WEIGHTS: "while the weights were loaded",
    FailurePhase.KV_CACHE: "while the KV cache was allocated",
    FailurePhase.GRAPH_CAPTURE: "while CUDA graphs were captured",
    FailurePhase.UNKNOWN: "",
}


class Asked(NamedTuple):
    """What the allocator says, as printed; None where it doesn't."""

    size: str | None
    gpu: str | None
    total: str | None
    free: str | None
    own: str | None
    unused: str | None


def match(context: Context) -> Finding | None:
    """torch's allocator, the CUDA runtime or a library of it gave up, itself or quoted by "Capture cuda graph failed"."""
    found = context.first(_MESSAGE)
    typed = next((item for item in context.block.exceptions if _TYPE.match(item.type)), None)
    if found is None and typed is None:
        return None
    asked = _read(found[0].message if found else typed.message if typed else "")
    if _others_hold_it(asked):
        return _busy(asked)
    kind, phase = _kind(context)
    when = _WHEN.get(phase, "while the server ran")
    return Finding(
        kind=kind,
        title=f"GPU memory ran out {when}".rstrip(),
        cause=_cause(asked, when),
        fixes=_fixes(kind, phase, asked, context.facts),
        confidence=Confidence.CERTAIN if phase is not FailurePhase.UNKNOWN else Confidence.LIKELY,
        devices=(Device(int(asked.gpu)),) if asked.gpu else (),
    )


def _kind(context: Context) -> tuple[Kind, FailurePhase]:
    if "cuda graph" in context.ending.message.lower() and "apture" in context.ending.message:
        return Kind.OOM_GRAPH_CAPTURE, FailurePhase.GRAPH_CAPTURE
    if context.phase in _BY_PHASE:
        return _BY_PHASE[context.phase], context.phase
    if context.phase is FailurePhase.UNKNOWN and (
        passes_through(context.all_frames, functions=_LOADING) or _LOADING_BAR.search(context.block.header)
    ):
        return Kind.OOM_WEIGHTS, FailurePhase.WEIGHTS
    return Kind.OOM_RUNTIME, context.phase


def _read(message: str) -> Asked:
    def size(pattern: re.Pattern[str]) -> str | None:
        found = pattern.search(message)
        return next((item for item in found.groups() if item), None) if found else None

    return Asked(size(_ASKED), size(_GPU), size(_TOTAL), size(_FREE), size(_OWN), size(_UNUSED))


def _bytes(text: str | None) -> float | None:
    found = re.fullmatch(r"([\d.]{1,20}) ?([KMGT])i?B", text or "")
    try:
        return float(found[1]) * _UNITS[found[2]] if found else None
    except ValueError:  # "1.2.3"
        return None


def _others_hold_it(asked: Asked) -> bool:
    """Most of the GPU is used, and not by this process."""
    total, free, own = _bytes(asked.total), _bytes(asked.free), _bytes(asked.own)
    return total is not None and free is not None and own is not None and total - free - own > total / 2


def _busy(asked: Asked) -> Finding:
    return Finding(
        kind=Kind.GPU_BUSY,
        title=f"GPU {asked.gpu} is used by other processes" if asked.gpu else "The GPU is used by other processes",
        cause=f"GPU {asked.gpu or '?'} has {asked.total}; {asked.free} were free although this process holds only {asked.own}:"
        " other processes hold the rest.",
        fixes=(
            "Find them with `nvidia-smi --query-compute-apps=pid,used_memory --format=csv` and stop them; a former server's"
            " memory"
            " is freed only up to two minutes after its end.",
        ),
        confidence=Confidence.CERTAIN,
        devices=(Device(int(asked.gpu)),) if asked.gpu else (),
    )


def _cause(asked: Asked, when: str) -> str:
    where = f"GPU {asked.gpu}" if asked.gpu else "The GPU"
    size = f" ({asked.total})" if asked.total else ""
    had = f"had {asked.free} left" if asked.free else "had no memory left"
    wanted = f", {asked.size} asked for" if asked.size and asked.free else f" ({asked.size} asked for)" if asked.size else ""
    return f"{where}{size} {had} {when}".rstrip() + f"{wanted}."


def _fixes(kind: Kind, phase: FailurePhase, asked: Asked, facts: Facts) -> tuple[str, ...]:
    fixes: list[str] = []
    unused, size = _bytes(asked.unused), _bytes(asked.size)
    if unused and size and unused > size:
        fixes.append(f"{asked.unused} are reserved but in pieces: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.")
    if kind is Kind.OOM_WEIGHTS:
        fixes.append("Spread the weights over more GPUs (--tp-size), or use a quantized checkpoint.")
        fixes.append("--mem-fraction-static doesn't help here: it limits the KV cache, which comes after the weights.")
        fixes.append("Look for other processes on the GPU (nvidia-smi).")
    elif kind is Kind.OOM_GRAPH_CAPTURE:
        fixes.append(
            f"Lower --cuda-graph-max-bs{_now(facts, 'cuda_graph_max_bs')}: graphs are captured for every batch size up to it."
        )
        fixes.append(
            f"Lower --mem-fraction-static{_now(facts, 'mem_fraction_static')} by 0.02 to 0.05: it leaves the graphs their room."
        )
    elif phase is FailurePhase.KV_CACHE:
        fixes.append(f"Lower --mem-fraction-static{_now(facts, 'mem_fraction_static')}, or set --max-total-tokens.")
    else:
        fixes.append(
            f"Lower --mem-fraction-static{_now(facts, 'mem_fraction_static')} by 0.02 to 0.05: it leaves activations their room."
        )
        fixes.append(f"Lower --chunked-prefill-size{_now(facts, 'chunked_prefill_size')}: a chunk's activations grow with it.")
        fixes.append(f"Lower --max-running-requests{_now(facts, 'max_running_requests')}.")
    return tuple(fixes)


def _now(facts: Facts, name: str) -> str:
    value = facts.server_args.get(name)
    return f" (now {value})" if isinstance(value, int | float) and not isinstance(value, bool) else ""


SIGNATURE = Signature(match)
