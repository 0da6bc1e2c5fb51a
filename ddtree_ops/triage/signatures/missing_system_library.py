"""A library of the system, not of Python, isn't there or is too old."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.shared_library import absent_library, old_runtime

_TRITON = re.compile(r"libcuda\.so cannot found|libcuda\.so (?:cannot|not) (?:be )?found")  # triton, backends/nvidia/driver.py
#: Debian's and Ubuntu's packages of libraries that inference needs.
_PACKAGES = {
    "libnuma.so.1": "libnuma1",
    "libibverbs.so.1": "libibverbs1",
    "librdmacm.so.1": "librdmacm1",
    "libgl.so.1": "libgl1",
    "libgomp.so.1": "libgomp1",
    "libsndfile.so.1": "libsndfile1",
    "libopenmpi.so.40": "libopenmpi3",
    "libmpi.so.40": "libopenmpi3",
    "libpython3.12.so.1.0": "libpython3.12",
}
_WHEELS = re.compile(r"lib(?:cudnn|nccl|cusparseLt|nvshmem|cufile)")


def match(context: Context) -> Finding | None:
    """Told by the dynamic linker, quoted by whoever imported it. CUDA's own libraries are `cuda_major_mismatch`."""
    old = old_runtime(context)
    if old:
        who = f", which {old['file']} needs" if old["file"] else ""
        cause = f"This system's C or C++ runtime is older than {old['version']}{who}."
        return _finding(
            f"{old['version']} is missing",
            cause,
            "Use a newer distribution, or wheels that are built for an older one (manylinux tag).",
        )
    if context.first(_TRITON):
        return _driver()
    absent = absent_library(context)
    if absent is None or absent.of_cuda:
        return None
    if absent.name.startswith("libcuda.so"):
        return _driver()
    if absent.name.startswith(("libtorch", "libc10")):
        return None
    package = _PACKAGES.get(absent.name.lower())
    fix = (
        f"Install it: `apt-get install {package}` (Debian, Ubuntu)."
        if package
        else f"Install the package that has {absent.name} (`apt-file search`)."
    )
    if _WHEELS.match(absent.name):
        fix = f"{absent.name} comes with an nvidia-* wheel: deploy the release from its lock, so that it is there in its version."
    return _finding(f"{absent.name} is missing", f"The dynamic linker doesn't find {absent.name} on this host.", fix)


def _driver() -> Finding:
    return _finding(
        "libcuda is missing",
        "The NVIDIA driver's user-space library (libcuda.so.1) isn't found: no driver, or a container without it.",
        "Install the driver's libcuda package (its branch must be that of the kernel module); then `ldconfig -p | grep libcuda`"
        " shows it.",
    )


def _finding(title: str, cause: str, fix: str) -> Finding:
    return Finding(Kind.MISSING_SYSTEM_LIBRARY, title, cause, (fix,), Confidence.CERTAIN)


SIGNATURE = Signature(match)
