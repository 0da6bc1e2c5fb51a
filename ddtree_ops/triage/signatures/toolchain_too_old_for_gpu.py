"""A compiler that doesn't know this GPU's architecture."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# ptxas and nvcc (CUDA 11 to 13), NVRTC, LLVM, torch's cpp_extension.py
_ARCHITECTURE = re.compile(
    r"Value '(?P<a>sm_\w{2,8})' is not defined for option 'gpu-name'|Unsupported gpu architecture '(?P<b>compute_\w{2,8})'"
    r"|'(?P<c>sm_\w{2,8})' is not a recognized processor|Unknown CUDA arch \((?P<d>[\w.+]{1,10})\)"
    r"|invalid value for --gpu-architecture|PTX \.version \S{1,8} does not support \.target (?P<e>sm_\w{2,8})"
)
_VERSION = re.compile(r"Unsupported \.version (?P<needs>[\d.]{1,6}); current version is '(?P<has>[\d.]{1,6})'")
# LLVM within triton's library: it aborts the process after this line (seen with triton 3.8 and a ptxas of CUDA 12.4)
_LLVM = re.compile(
    r"LLVM ERROR: PTX version (?P<has>[\d.]{1,6}) does not support target '(?P<arch>sm_\w{2,8})'\. Minimum required PTX version"
    r" is"
    r" (?P<needs>\d{1,2}\.\d{1,2})"
)
_EXIT = re.compile(r"ptxas.{0,400}--gpu-name=(?P<arch>sm_\w{2,8}).{0,400}returned non-zero exit status 255", re.DOTALL)
# flashinfer 0.4 to 0.7, compilation_context.py
_FLASHINFER = re.compile(
    r"SM (?P<sm>[\d.]{2,5}\+?) requires CUDA >= (?P<cuda>[\d.]{2,5})|No supported CUDA architectures found for major versions"
    r" \[(?P<majors>[\d, ]{1,40})\]"
)
_TOOL = re.compile(r"(?P<path>/[^\s'\",]{1,300}/(?:ptxas(?:-blackwell)?|nvcc))\b")


def match(context: Context) -> Finding | None:
    """ptxas, nvcc, NVRTC or the package that calls them refuses the architecture."""
    found = context.first(_ARCHITECTURE)
    if found:
        arch = next((item for item in found[1].groups() if item), None)
        return _finding(_cause(context, arch), Confidence.CERTAIN)
    found = context.first(_VERSION)
    if found:
        return _finding(
            f"ptxas knows PTX up to {found[1]['has']}, but was given {found[1]['needs']}: it is older than the compiler.",
            Confidence.CERTAIN,
        )
    found = context.first(_FLASHINFER)
    if found:
        needs = (
            f"SM {found[1]['sm']} needs CUDA {found[1]['cuda']} or later"
            if found[1]["sm"]
            else f"it builds for compute capability {found[1]['majors']}.x only"
        )
        return _finding(f"flashinfer can't build this kernel with the CUDA toolkit it found: {needs}.", Confidence.LIKELY)
    found = context.first(_EXIT)
    return _finding(_cause(context, found[1]["arch"]), Confidence.LIKELY) if found else None


def match_line(text: str) -> Finding | None:
    """LLVM's last line; no exception follows it."""
    found = _LLVM.match(text)
    if found is None:
        return None
    cause = (
        f"The compiler (ptxas) knows PTX up to {found['has']}, and {found['arch']} needs {found['needs']}: it is too old"
        " for this GPU."
    )
    return _finding(cause, Confidence.CERTAIN)


def _cause(context: Context, arch: str | None) -> str:
    found = context.near("/ptxas", _TOOL) or context.near("/nvcc", _TOOL)
    tool = found[1]["path"] if found else None
    return f"The compiler{f' {tool}' if tool else ''} is too old to build for {arch or 'this GPU'}."


def _finding(cause: str, confidence: Confidence) -> Finding:
    fixes = (
        "Set TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas and CUDA_HOME to a CUDA 13 toolkit in the unit (`ptxas --version`"
        " tells).",
        "Clear the caches of compiled kernels afterwards (~/.triton/cache, ~/.cache/flashinfer).",
    )
    return Finding(Kind.TOOLCHAIN_TOO_OLD_FOR_GPU, "The compiler doesn't know this GPU", cause, fixes, confidence)


SIGNATURE = Signature(match, match_line, literals=("LLVM ERROR: PTX",))
