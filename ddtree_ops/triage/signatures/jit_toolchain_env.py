"""Kernels are compiled at run time, and what that needs isn't there or doesn't fit together."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# The shell, the kernel's execve, torch's cpp_extension.py, flashinfer's jit/cpp_ext.py, triton's runtime/build.py
_NOT_FOUND = re.compile(r"(?P<a>\S{0,200}\b(?:nvcc|ninja|gcc|g\+\+|cc1plus|c\+\+)): (?:command )?not found")
_NO_TOOL = re.compile(
    r"No such file or directory:? '?(?P<b>\S{0,200}\b(?:nvcc|ninja|gcc|g\+\+|cc1plus))\b"
    r"|Could not find (?P<c>nvcc)|(?P<d>nvcc) not found|(?P<e>Ninja) is required|Failed to find (?P<f>C(?:\+\+)? compiler)"
    r"|cannot execute '(?P<g>cc1plus)'"
)
_NO_CUDA_HOME = re.compile(r"CUDA_HOME (?:environment variable )?is not set|Could not find CUDA installation")
_NO_HEADER = re.compile(r"fatal error: (?P<name>[\w./+-]{1,100}): No such file or directory")
_PYTHON_HEADER = re.compile(r"fatal error: (?P<name>Python\.h): No such file or directory")
_LINK = re.compile(r"cannot find (?P<name>-l\w{1,40})")
_GLIBC = re.compile(r"exception specification is incompatible")
_COMPILER = re.compile(r"unsupported GNU version!|is (?:less than the minimum|greater than the maximum) required version by CUDA")
_CACHE = re.compile(
    r"Permission denied: '(?P<path>[^'\n]{0,200}(?:flashinfer|triton|torch_extensions|tvm-ffi"
    r"|deep_gemm|torchinductor)[^'\n]{0,200})'"
)
_BUILD = re.compile(
    r"[Nn]inja build failed|[Nn]inja exited with status \d{1,6}|Error building extension|ninja: build stopped"
    r"|Command '?\[?'?(?:[^\s',]{0,200}/)?(?:ninja|nvcc|gcc|g\+\+|cc|c\+\+|clang|clang\+\+|hipcc)(?:-[\d.]{1,6})?'?[ ,]"
    r".{0,10000}?returned non-zero exit status",
    re.DOTALL,
)
_INSTALL = (
    "Install the CUDA 13 toolkit, ninja and g++ on the host (a `-runtime` image has none of them), and set CUDA_HOME in the unit."
)


class _Case(NamedTuple):
    """`look`: where the pattern is searched; its groups fill title, cause and fixes."""

    look: Callable[[Context, re.Pattern[str]], re.Match[str] | None]
    pattern: re.Pattern[str]
    title: str
    cause: str
    fixes: tuple[str, ...]
    confidence: Confidence = Confidence.CERTAIN


def match(context: Context) -> Finding | None:
    """A tool, a header or a library is missing, or compiler and headers don't fit; a failed build as such is only likely to be
    that. What the compiler printed stands in the message, or above the traceback."""
    near = context.near("not found", _NOT_FOUND)
    found = near[1] if near else _said(context, _NO_TOOL)
    if found:
        return _no_tool(next(item for item in found.groups() if item))
    for case in _CASES:
        found = case.look(context, case.pattern)
        if found:
            title, cause, *fixes = (text.format_map(found.groupdict()) for text in (case.title, case.cause, *case.fixes))
            return _finding(title, cause, case.confidence, *fixes)
    return None


def _in_message(context: Context, pattern: re.Pattern[str]) -> re.Match[str] | None:
    found = context.first(pattern)
    return found[1] if found else None


def _said(context: Context, pattern: re.Pattern[str]) -> re.Match[str] | None:
    found = context.first(pattern)
    if found:
        return found[1]
    return context.printed_before(pattern) if context.first(_BUILD) else None


def _no_tool(tool: str) -> Finding:
    path = tool.lstrip("'\"[`")
    name = path.rsplit("/", 1)[-1]
    fixes = [_INSTALL]
    cause = f"A kernel is to be compiled at run time, but {path} isn't there."
    if path.startswith(":"):
        cause = (
            f"A kernel is to be compiled with {path}: no such file, since CUDA_HOME (or a PATH it was made of) begins with ':'."
        )
        fixes = [f"Set CUDA_HOME={path[1:].rsplit('/bin/', 1)[0]} without the colon: one directory, not a list."]
    return _finding(f"{name} isn't found", cause, Confidence.CERTAIN, *fixes)


def _finding(title: str, cause: str, confidence: Confidence, *fixes: str) -> Finding:
    return Finding(Kind.JIT_TOOLCHAIN_ENV, title, cause, fixes, confidence)


_ABSENT = ("{name} is missing", "A kernel is to be compiled, but {name} isn't on this host.")
_CASES = (
    _Case(
        _in_message,
        _NO_CUDA_HOME,
        "CUDA's toolkit isn't found",
        "A kernel is to be compiled, but CUDA_HOME isn't set and no toolkit was found.",
        (_INSTALL,),
    ),
    _Case(_said, _PYTHON_HEADER, *_ABSENT, ("Install python3-dev.",)),
    _Case(_said, _NO_HEADER, *_ABSENT, ("Install the development package that has it.",)),
    _Case(_said, _LINK, *_ABSENT, ("Install the development package that has it.",)),
    _Case(
        _said,
        _GLIBC,
        "glibc and CUDA's headers don't fit",
        "This system's glibc (2.41 or later) declares functions in another way than the CUDA toolkit's headers.",
        ("Use a toolkit (13.1 or later) that knows this glibc, or an older base image.",),
    ),
    _Case(
        _said,
        _COMPILER,
        "The C++ compiler doesn't fit CUDA",
        "nvcc doesn't take this version of g++.",
        ("Install the g++ that it names and set CC, CXX and NVCC_PREPEND_FLAGS=-ccbin.",),
    ),
    _Case(
        _in_message,
        _CACHE,
        "The cache of kernels isn't writable",
        "The cache of compiled kernels can't be written: {path}.",
        ("Give the unit's user a cache directory of its own (XDG_CACHE_HOME, TRITON_CACHE_DIR, FLASHINFER_WORKSPACE_BASE).",),
    ),
    _Case(
        _in_message,
        _BUILD,
        "Building a kernel failed",
        "A kernel that is compiled at run time couldn't be built; the compiler's own lines say why.",
        (_INSTALL, "After an upgrade clear ~/.cache/flashinfer and ~/.cache/tvm-ffi: they may hold files of the former stack."),
        Confidence.LOW,
    ),
)

SIGNATURE = Signature(match)
