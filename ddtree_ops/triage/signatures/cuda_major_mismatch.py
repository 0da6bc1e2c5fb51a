"""Parts built for different versions of CUDA meet, or the driver is older than all of them."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.shared_library import absent_library, undefined_symbol

# torch, utils/cpp_extension.py; torchvision, extension.py
_DETECTED = re.compile(
    r"detected CUDA version \((?P<here>[\d.]{1,10})\) mismatches the version that was used to compile\s+PyTorch \("
    r"(?P<torch>[\d.]{1,10})\)"
)
_COMPILED = re.compile(
    r"compiled with different CUDA (?:major )?versions\. PyTorch has CUDA Version=(?P<torch>[\d.]{1,10}) and \w+ has CUDA"
    r" Version=(?P<here>[\d.]{1,10})"
)
# torch, c10/cuda; CUDA errors 35, 222 and 803
_DRIVER = re.compile(
    r"NVIDIA driver on your system is too old \(found version (?P<found>\d{1,6})\)"
    r"|driver version is insufficient for CUDA runtime version|PTX was compiled with an unsupported toolchain"
    r"|system has unsupported display driver / cuda driver combination"
)
_CUDA_SYMBOL = re.compile(r"_*(?:nvJitLink|nvrtc|cublas|cudart|cusparse|cusolver|cufft|cudnn|cu[A-Z])")
_RELEASE = (
    "Deploy a release whose wheels are all of one CUDA (torch +cu130, sglang-kernel +cu130): the hash lock is made for that."
)


def match(context: Context) -> Finding | None:
    """A CUDA library of another major version, or the driver's refusal."""
    absent = absent_library(context)
    if absent and absent.cuda_major:
        cause = (
            f"Something was built for {absent.name}, which belongs to CUDA {absent.cuda_major}; this environment has"
            " another CUDA."
        )
        return _finding(f"{absent.name} is missing", cause, _RELEASE)
    for pattern in (_DETECTED, _COMPILED):
        found = context.first(pattern)
        if found:
            cause = f"torch was built for CUDA {found[1]['torch']} and meets CUDA {found[1]['here']}."
            return _finding(
                "Two versions of CUDA meet", cause, _RELEASE, "Point CUDA_HOME at a toolkit of torch's major version."
            )
    found = context.first(_DRIVER)
    if found:
        has = (
            f" (it knows CUDA {int(found[1]['found']) // 1000}.{int(found[1]['found']) % 1000 // 10})"
            if found[1]["found"]
            else ""
        )
        return _finding(
            "The driver is too old",
            f"The NVIDIA driver{has} is older than the CUDA of this runtime.",
            "CUDA 13 needs driver branch R580 or later.",
        )
    symbol = undefined_symbol(context)
    if symbol and _CUDA_SYMBOL.match(symbol["symbol"] or ""):
        cause = (
            f"{symbol['file'] or 'A library'} needs {symbol['symbol']}, which the CUDA library that was loaded doesn't"
            " have: it is of another version."
        )
        return _finding(
            "A CUDA library of another version was loaded", cause, "Take the toolkit's folders out of LD_LIBRARY_PATH.", _RELEASE
        )
    return None


def _finding(title: str, cause: str, *fixes: str) -> Finding:
    return Finding(Kind.CUDA_MAJOR_MISMATCH, title, cause, fixes, Confidence.CERTAIN)


SIGNATURE = Signature(match)
