"""An assertion within a GPU kernel failed: an index that the caller got wrong, or something else."""

from __future__ import annotations

import re

from ddtree_ops.triage.blocks.device_assert import DeviceAssert, read_assert
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_TRIGGERED = re.compile(r"device-side assert triggered|\bcudaErrorAssert\b|\bCUDA_ERROR_ASSERT\b")
# ATen's kernels that take indices (native/cuda/Indexing.cu, IndexKernel.cu, ScatterGatherKernel.cu, Loss.cu; torch 2.11)
_INDEX = re.compile(
    r"out of (?:bounds|range)|srcIndex <|dstIndex <|\bind(?:ex)?_?(?:dim)?\b.{0,40}<|idx_dim >=|cur_target >= 0|\bt >= 0 && t <"
    r"|index .{0,60}(?:size|bound)"
)
_NAN = re.compile(r"probability tensor contains|inf`?, `?nan`? or element < 0|cumdist\[|\bisnan\b|\bNaN\b|not .{0,10}finite")

_BLOCKING = "Start once with CUDA_LAUNCH_BLOCKING=1 and --disable-cuda-graph: then the Python stack shows the caller."


def match(context: Context) -> Finding | None:
    """The kernel's own line tells which; without it only that one failed."""
    lines = [read_assert(line) for line in context.block.lines]
    found = next((line for line in lines if line), None)
    if found is None:
        return _untold() if context.search(_TRIGGERED) else None
    place = f"{found.function or 'a kernel'} ({found.file.rsplit('/', 1)[-1]}:{found.line})"
    if _INDEX.search(found.condition) and not _NAN.search(found.condition):
        return _index(found, place)
    return _other(found, place)


def _index(found: DeviceAssert, place: str) -> Finding:
    return Finding(
        kind=Kind.DEVICE_ASSERT_BAD_INDEX,
        title="An index outside of a tensor reached a GPU kernel",
        cause=f"{place} was given an index outside of its tensor: its assertion `{found.condition[:200]}` failed."
        " Mostly a token id beyond the vocabulary, a position beyond the longest context, or a wrong slot of the KV cache.",
        fixes=(
            "Compare the vocabulary sizes of model, draft model and tokenizer, and the request's length with the context length.",
            _BLOCKING,
        ),
        confidence=Confidence.CERTAIN,
    )


def _other(found: DeviceAssert, place: str) -> Finding:
    nan = _NAN.search(found.condition) is not None
    why = " The model's output holds NaN or infinite values." if nan else ""
    hint = (
        (
            "A quantized GEMM or MoE back-end that overflows is the usual source: try another one, and wipe the JIT kernels'"
            " caches.",
        )
        if nan
        else ("Look for a release that fixes this kernel.",)
    )
    return Finding(
        kind=Kind.DEVICE_ASSERT_KERNEL_BUG,
        title=f"An assertion failed in {found.function.split('(')[0].strip() or 'a GPU kernel'}",
        cause=f"{place}: its assertion `{found.condition[:200]}` failed.{why}",
        fixes=(*hint, _BLOCKING),
        confidence=Confidence.CERTAIN,
    )


def _untold() -> Finding:
    return Finding(
        kind=Kind.DEVICE_ASSERT_BAD_INDEX,
        title="An assertion failed in a GPU kernel",
        cause="The kernel's own line, which names the assertion, isn't in this log; most often it is an index outside of a"
        " tensor.",
        fixes=("Look for `Assertion` above, in a longer part of the log or in what C code wrote to stderr.", _BLOCKING),
        confidence=Confidence.LOW,
    )


SIGNATURE = Signature(match)
