"""What the dynamic linker says of a library that couldn't be loaded (glibc's elf/dl-load.c and dl-lookup.c, as dlopen's
message)."""

from __future__ import annotations

import re
from typing import NamedTuple

from ddtree_ops.triage.signatures.context import Context

_ABSENT = re.compile(r"(?P<name>lib[\w+.-]{1,80}?\.so(?:\.[\d.]{1,20})?): cannot open shared object file")
_SYMBOL = re.compile(
    r"(?:(?P<file>[^\s:'\"]{1,300}\.so[\d.]{0,20}): )?(?:undefined symbol: (?P<symbol>[\w@.$]{1,400})|symbol lookup error)(?:,"
    r" version (?P<needs>\S{1,80}))?"
)
_VERSION = re.compile(
    r"version `(?P<version>(?:GLIBC|GLIBCXX|CXXABI|GCC)_[\w.]{1,20})' not found(?: \(required by (?P<file>[^)]{1,300})\))?"
)

#: Libraries of the CUDA toolkit. The first ones have CUDA's major version as their number; the others count by themselves
#: (CUDA 12 has libcufft.so.11, libcurand.so.10, libcusolver.so.11).
_OF_CUDA = re.compile(
    r"lib(?:(?:cudart|cublas|cublasLt|nvrtc|nvrtc-builtins|nvJitLink)\.so\.(?P<major>\d{1,4})\b"
    r"|(?:cufft|cufftw|curand|cusolver|cusparse|cupti|npp[a-z]{1,4}|nvblas)\.so)"
)


class Absent(NamedTuple):
    """A library that isn't there; `of_cuda`: it is the toolkit's own; `cuda_major`: the CUDA that its name tells then."""

    name: str
    of_cuda: bool
    cuda_major: str | None


def absent_library(context: Context) -> Absent | None:
    """The first library that the linker looked for in vain."""
    found = context.near("cannot open shared object file", _ABSENT)
    if found is None:
        return None
    name = found[1]["name"]
    cuda = _OF_CUDA.match(name)
    return Absent(name, cuda is not None, cuda["major"] if cuda else None)


def undefined_symbol(context: Context) -> re.Match[str] | None:
    """A symbol that no loaded library has: groups `file`, `symbol`, `needs`."""
    found = context.near("undefined symbol", _SYMBOL) or context.near("symbol lookup error", _SYMBOL)
    return found[1] if found else None


def old_runtime(context: Context) -> re.Match[str] | None:
    """A version of glibc's or libstdc++'s interface that this system doesn't have: groups `version`, `file`."""
    found = context.near("not found", _VERSION)
    return found[1] if found else None
