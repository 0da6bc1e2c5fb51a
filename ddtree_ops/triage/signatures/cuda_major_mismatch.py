"""Parts built for different versions of CUDA meet, or the driver is older than all of them."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.shared_library import Absent, absent_library, undefined_symbol

# torch, utils/cpp_extension.py; torchvision, extension.py
_DETECTED = re.compile(
    r"detected CUDA version \((?P<here>[\d.]{1,10})\) mismatches the version that was used to compile\s+PyTorch \("
    r"(?P<torch>[\d.]{1,10})\)"
)
_COMPILED = re.compile(
    r"compiled with different CUDA (?:major )?versions\. PyTorch has CUDA Version=(?P<torch>[\d.]{1,10}) and \w+ has CUDA"
    r" Version=(?P<here>[\d.]{1,10})"
)
# torch, c10/cuda; CUDA errors 35 and 222
_DRIVER = re.compile(
    r"NVIDIA driver on your system is too old \(found version (?P<found>\d{1,6})\)"
    r"|driver version is insufficient for CUDA runtime version|PTX was compiled with an unsupported toolchain"
)
# CUDA error 803, cudaErrorSystemDriverMismatch
_TWO_DRIVERS = re.compile(r"system has unsupported display driver / cuda driver combination")
_CUDA_SYMBOL = re.compile(r"_*(?:nvJitLink|nvrtc|cublas|cudart|cusparse|cusolver|cufft|cudnn|cu[A-Z])")
_RELEASE = (
    "Deploy a release whose wheels are all of one CUDA (torch +cu130, sglang-kernel +cu130): the hash lock is made for that."
)


def match(context: Context) -> Finding | None:
    """A CUDA library of another major version, or the driver's refusal."""
    absent = absent_library(context)
    if absent and absent.of_cuda:
        return _absent(absent)
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
    if context.first(_TWO_DRIVERS):
        return _two_drivers()
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


def _absent(absent: Absent) -> Finding:
    of = f"belongs to CUDA {absent.cuda_major}" if absent.cuda_major else "is a part of the CUDA toolkit"
    return _finding(
        f"{absent.name} is missing",
        f"Something was built for {absent.name}, which {of}; the dynamic linker doesn't find it here. Most often the environment"
        " has another CUDA than that.",
        _RELEASE,
        confidence=Confidence.LIKELY,
    )


def _two_drivers() -> Finding:
    return _finding(
        "The driver's two halves don't fit together",
        "CUDA's part of the driver (libcuda) and the kernel's part are of versions that don't go together: after an update"
        " without a reboot, or because a compatibility package (cuda-compat) is found first.",
        "Reboot after an update of the driver; nvidia-smi shows the kernel's version, `ldconfig -p | grep libcuda` the library.",
        "Take cuda-compat out of LD_LIBRARY_PATH where the host's driver is new enough by itself.",
        confidence=Confidence.LIKELY,
    )


def _finding(title: str, cause: str, *fixes: str, confidence: Confidence = Confidence.CERTAIN) -> Finding:
    return Finding(Kind.CUDA_MAJOR_MISMATCH, title, cause, fixes, confidence)


SIGNATURE = Signature(match)
