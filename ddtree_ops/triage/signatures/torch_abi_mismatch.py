"""A compiled package was built for another torch than the one that is installed."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.shared_library import absent_library, undefined_symbol

_OPERATOR = re.compile(r"operator (?P<name>torchvision::\w{1,60}) does not exist")
_CPU_BUILD = re.compile(r"Torch not compiled with CUDA enabled")
_OF_TORCH = re.compile(r"c10|at(?:en)?\d|torch|aoti_|THP|Tensor")
_RELEASE = (
    "Deploy the release from its lock: torch and every compiled package (sglang-kernel, flashinfer, torchvision) of one build."
)


def match(context: Context) -> Finding | None:
    """A symbol or a library of torch that isn't there."""
    symbol = undefined_symbol(context)
    if symbol:
        name, file = symbol["symbol"] or "a symbol", symbol["file"]
        who = file.rsplit("/", 1)[-1] if file else "a compiled package"
        of_torch = bool(_OF_TORCH.search(name))
        cause = (
            f"{who} was built for another {'torch' if of_torch else 'version of a library'}: the one that is loaded has no"
            f" {name[:120]}."
        )
        return _finding(cause, Confidence.CERTAIN if of_torch else Confidence.LIKELY)
    absent = absent_library(context)
    if absent and absent.name.startswith(("libtorch", "libc10")):
        return _finding(f"A compiled package needs {absent.name}, which the installed torch doesn't have.", Confidence.CERTAIN)
    found = context.first(_OPERATOR)
    if found:
        return _finding(
            f"torchvision was built for another torch: its operator {found[1]['name']} couldn't be registered.", Confidence.LIKELY
        )
    if context.first(_CPU_BUILD):
        return _finding("The installed torch is a build without CUDA.", Confidence.CERTAIN)
    return None


def _finding(cause: str, confidence: Confidence) -> Finding:
    return Finding(Kind.TORCH_ABI_MISMATCH, "A compiled package doesn't fit the installed torch", cause, (_RELEASE,), confidence)


SIGNATURE = Signature(match)
