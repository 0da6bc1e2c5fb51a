"""A process died in native code: a signal, or glibc's finding that memory was overwritten."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Frame, Origin
from ddtree_ops.triage.blocks.native_lines import CORRUPTION, SIGNALLED
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_FATAL = re.compile(
    r"Fatal Python error: (?P<signal>Segmentation fault|Bus error|Illegal instruction|Floating[ -]point exception|Aborted)$"
)
_BUS = re.compile(r"Bus error|SIGBUS")
_ILLEGAL = re.compile(r"[Ii]llegal instruction|SIGILL")

_CORE = "Look at the core dump: coredumpctl gdb, then bt; it names the library."
_FIXES = (
    _CORE,
    "Start once without CUDA graphs and with the last changed kernel back-end turned off; if that helps, the library behind it"
    " is at fault.",
)


def match(context: Context) -> Finding | None:
    """Faulthandler's words, a signal handler's, a shell's, or glibc's."""
    fatal = _FATAL.match(context.ending.type)
    corrupt = CORRUPTION.search(context.block.text)
    signalled = context.block.origin is Origin.LINE and SIGNALLED.match(context.block.lines[0].lstrip())
    if fatal is None and not (corrupt and context.block.origin is Origin.LINE) and not signalled:
        return None
    if fatal and fatal["signal"] == "Aborted" and not corrupt:
        return _aborted(context)
    if corrupt:
        said = next(line.strip() for line in context.block.lines if CORRUPTION.search(line))
        return _finding(
            "overwrote memory", f"The C library found memory overwritten and ended the process ({said[:200]})", context
        )
    text = context.ending.type + context.block.text
    if _BUS.search(text):
        return _bus(context)
    if "Floating" in text[:60]:
        return _finding("divided by zero in native code", "Native code divided an integer by zero (SIGFPE)", context)
    if _ILLEGAL.search(text):
        return _finding("ran an instruction that this CPU lacks", "A library was built for another CPU", context)
    return _finding("crashed in native code", "It touched memory that isn't its own (SIGSEGV)", context)


def _finding(what: str, cause: str, context: Context) -> Finding:
    place = _place(context)
    return Finding(
        kind=Kind.NATIVE_SEGFAULT,
        title=f"A process {what}" + (f" below {place.function}" if place else ""),
        cause=cause + (f"; Python stood in {place.function} ({place.file}:{place.line})." if place else "."),
        fixes=_FIXES,
        confidence=Confidence.LIKELY if place else Confidence.LOW,
    )


def _bus(context: Context) -> Finding:
    found = _finding("died of a bus error", "It touched mapped memory that could not be provided (SIGBUS)", context)
    fixes = ("Most often /dev/shm is full (df -h /dev/shm), or a mapped file was cut or its disk failed.", *found.fixes)
    return Finding(found.kind, found.title, found.cause, fixes, found.confidence)


def _aborted(context: Context) -> Finding:
    return _finding(
        "was aborted by native code", "A library called abort(); what it said stands right before, if anything", context
    )


def _place(context: Context) -> Frame | None:
    """Where the crashed thread stood: the innermost frame of the application, else the innermost."""
    current = next((thread for thread in context.block.threads if thread.current), None)
    if current is None or not current.frames:
        return None
    return next((frame for frame in reversed(current.frames) if frame.in_app), current.frames[-1])


SIGNATURE = Signature(match)
