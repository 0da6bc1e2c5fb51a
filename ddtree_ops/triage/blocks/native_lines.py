"""Single lines by which native code tells that it crashed, or what it ran into, before or instead of an exception.

glibc's checks (malloc/malloc.c, debug/stack_chk_fail.c), the signal handlers of absl, glog and TVM, a shell's words about
a child, CUDA errors on C's stderr, SGLang's watchdogs (0.5.13.post1, srt/utils/watchdog.py).
"""

from __future__ import annotations

import re
from typing import ClassVar

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.collector import Collector, Draft, Result
from ddtree_ops.triage.blocks.exception_lines import parse_exception

#: What shows that a process's heap or stack was overwritten.
CORRUPTION = re.compile(
    r"(?:(?:free|malloc|realloc|munmap_chunk|malloc_consolidate|memalign)\(\): [a-z]"
    r"|double free (?:or corruption|detected)|corrupted (?:double-linked list|size vs\. prev_size)|(?:double|single)-linked list"
    r"|\*\*\* (?:stack smashing|buffer overflow) detected \*\*\*)"
)
#: What a handler or a shell says of a process that died of a signal.
SIGNALLED = re.compile(
    r"!!!!!!! Segfault encountered !!!!!!!"
    r"|\*\*\* SIG(?:SEGV|BUS|ILL|FPE|ABRT) (?:received at|\(@)"
    r"|(?:\[[^\]]{1,120}\] )?(?:\*\*\* Process received signal \*\*\*|Caught signal \d{1,2} \()"
    r"|(?:\S{1,40}: (?:line )?\d{1,6}: +\d{1,9} +)?"
    r"(?:Segmentation fault|Bus error|Illegal instruction)(?: +\(core dumped\)|$| {2})"
)
#: A shell tells that its child was killed.
KILLED = re.compile(r"(?:\S{1,40}: (?:line )?\d{1,6}: +\d{1,9} +)?Killed(?:$| {2,}\S| \S{0,40}python)")
#: A CUDA call's failure, as C and C++ code and Python's warnings print it.
CUDA = re.compile(
    r"CUDA [Ee]rror(?: \d{1,4})?: |CUDA error at |Cuda failure |CUDA driver error: |CUDA initialization: "
    r"|cudaError[A-Z]\w{3,60}\b|CUDA_ERROR_[A-Z_]{3,60}\b"
)
#: SGLang's watchdog. `soft=True` only reports.
HANG = re.compile(r"(?P<who>[A-Z]\w{1,60} )?[Ww]atchdog timeout \(self\.watchdog_timeout=(?P<seconds>\d{1,9}(?:\.\d{1,9})?)")

# absl's and glog's frames, TVM's, gdb's, UCX's (`==== backtrace`), Open MPI's (`[host:41] [ 0] /lib/...`)
_NATIVE_STACK = re.compile(
    r"\s{0,8}(?:PC: )?@ {1,24}0x[0-9a-f]|\s{2,8}File \"[^\"]{0,500}\", line \d{1,9}, in |\s{0,8}#\d{1,4} +0x[0-9a-f]"
    r"|==== backtrace|\s{0,4}\d{1,4} 0x[0-9a-f]{8,16} |={20,}$"
    r"|\[[^\]]{1,120}\] (?:Signal|Signal code|Failing at address|\[ ?\d{1,3}\]|\*\*\* End of error)"
)
_LOGGER = re.compile(r"\[\S[^\]]{0,80}\] \w{1,40}\.cc:\d{1,6}: ")  # ray repeats absl's dump through its logger
_STACK_LIMIT = 100


class _Crash:
    """The line, and the native stack behind it."""

    def __init__(self) -> None:
        self._count = 0

    def take(self, text: str, dated: bool, /) -> bool:
        self._count += 1
        if dated or self._count > _STACK_LIMIT:
            return False
        found = _LOGGER.match(text)
        text = text[found.end() :] if found else text
        return not text.strip() or bool(_NATIVE_STACK.match(text) or SIGNALLED.match(text))

    def finish(self) -> Result:
        return Result()


class _Alone:
    def take(self, _text: str, _dated: bool, /) -> bool:
        return False

    def finish(self) -> Result:
        return Result()


class NativeLines(Collector):
    """Blocks of a line, with a native stack where one follows."""

    literals: ClassVar[tuple[str, ...]] = (
        "(): invalid ",
        "(): corrupted ",
        "(): unaligned ",
        "(): unsorted ",
        "(): largebin ",
        "(): mismatching ",
        "double free ",
        "corrupted double-linked list",
        "corrupted size vs",
        "smashing detected",
        "buffer overflow detected",
        "Segfault encountered",
        "*** SIG",
        "Process received signal",
        "Caught signal ",
        "Killed",
        "Segmentation fault",
        "Bus error",
        "Illegal instruction",
        "CUDA error",
        "CUDA Error",
        "Cuda failure",
        "CUDA driver error",
        "CUDA initialization: ",
        "cudaError",
        "CUDA_ERROR_",
        "atchdog timeout (self.",
    )
    origin: ClassVar[Origin] = Origin.LINE

    def begin(self, text: str, dated: bool, /) -> tuple[Draft, int] | None:
        """A line of a crash begins with its words; one of CUDA may have a logger's name or a warning's place before them."""
        logger = _LOGGER.match(text)
        start = logger.end() if logger else 0
        body = text[start:].lstrip()
        if HANG.match(body) or (not dated and KILLED.match(body)):
            return _Alone(), 0
        if not dated and (CORRUPTION.match(body) or SIGNALLED.match(body)):
            return _Crash(), start
        quoted = dated or "what():" in text or parse_exception(text[:1000])
        return None if quoted or not CUDA.search(text[:1000]) else (_Alone(), 0)
