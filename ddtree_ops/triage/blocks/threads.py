"""Dumps of CPython's faulthandler: a fatal error with every thread's stack, or stacks alone.

Shapes of Python 3.8 to 3.14 (Python/pylifecycle.c, Python/traceback.c, Modules/faulthandler.c): 3.13 and before write
`Thread 0x... (most recent call first):`, 3.14 adds the thread's name in brackets and a C stack; stacks are innermost first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from ddtree_ops.triage.block import Frame, Origin, ParsedException, Thread
from ddtree_ops.triage.blocks.collector import Collector, Draft, Result
from ddtree_ops.triage.blocks.frames import is_in_app
from ddtree_ops.units.whole_number import whole_number

_FATAL = re.compile(r"Fatal Python error: (?:(?P<function>[A-Za-z_]\w{0,80}): )?(?P<words>.{1,2000})$")
_THREAD = re.compile(
    r"(?P<current>Current thread|Thread) (?P<id>0x[0-9a-fA-F]{1,16})(?: \[(?P<name>[^\]]{0,100})\])?"
    r" \(most recent call first\):"
)
_STACK = re.compile(r"Stack \(most recent call first\):")
_C_STACK = re.compile(r"Current thread's C stack trace \(most recent call first\):")
_TIMEOUT = re.compile(r"Timeout \(\d{1,6}:\d\d:\d\d(?:\.\d{1,9})?\)!$")
_FRAME = re.compile(r'\s{1,8}File "(?P<file>[^"]{0,1000})", line (?P<line>\d{1,9}|\?\?\?)(?:,)? in (?P<function>.{1,500})$')
_WITHIN = re.compile(
    r"\s{1,8}(?:\.\.\.|<[^<>]{1,80}>|Binary file \"|Garbage-collecting)|Python runtime state: |\s{0,8}<[^<>]{1,80}>$"
)
_LAST = re.compile(r"Extension modules: ")
_THREAD_LIMIT = 256
_FRAME_LIMIT = 200
_BLANK_LIMIT = 8  # one after the other; a dump's own gaps are single
_FOREIGN_LIMIT = 20


@dataclass(slots=True)
class _Stack:
    id: str | None
    name: str | None
    current: bool
    frames: list[Frame] = field(default_factory=list)


class _Dump:
    def __init__(self, exception: ParsedException | None) -> None:
        self._exception = exception
        self._stacks: list[_Stack] = []
        self._python = True  # whether frames of Python are being read, not of C
        self._over = False
        self._blanks = self._foreign = 0

    def take(self, text: str, dated: bool, /) -> bool:
        if self._over or dated:
            return False
        if not text.strip():
            self._blanks += 1
            return self._blanks <= _BLANK_LIMIT
        self._blanks = 0
        if (frame := _FRAME.match(text)) and self._stacks:
            return self._add(frame)
        if thread := _THREAD.match(text):
            return self._start(thread["id"], thread["name"], current=thread["current"] != "Thread")
        if _STACK.match(text):
            return self._start(None, None, current=True)
        if _C_STACK.match(text):
            self._python = False
            return True
        if _LAST.match(text):
            self._over = True
            return True
        if _WITHIN.match(text):
            return True
        self._foreign += 1
        return bool(self._stacks) and self._foreign <= _FOREIGN_LIMIT and not _FATAL.match(text) and text[:1] == " "

    def finish(self) -> Result | None:
        if self._exception is None and not any(stack.frames for stack in self._stacks):
            return None
        threads = tuple(Thread(one.id, one.name, one.current, tuple(reversed(one.frames))) for one in self._stacks)
        return Result((self._exception,) if self._exception else (), threads)

    def start_line(self, text: str) -> None:
        """The block's first line is a thread's own."""
        self.take(text, False)

    def _start(self, number: str | None, name: str | None, *, current: bool) -> bool:
        self._python = True
        if len(self._stacks) < _THREAD_LIMIT:
            self._stacks.append(_Stack(number, name, current))
        return True

    def _add(self, found: re.Match[str]) -> bool:
        frames = self._stacks[-1].frames
        if self._python and len(frames) < _FRAME_LIMIT:
            number = whole_number(found["line"])
            frames.append(Frame(found["file"], number, found["function"], None, is_in_app(found["file"])))
        return True


class ThreadDumps(Collector):
    """Faulthandler's dumps. Without `Fatal Python error` they are threads only, and no failure."""

    literals: ClassVar[tuple[str, ...]] = ("Fatal Python error: ", "(most recent call first):", "Timeout (")
    origin: ClassVar[Origin] = Origin.THREADS

    def begin(self, text: str, dated: bool, /) -> tuple[Draft, int] | None:
        """A fatal error: its type is the line as printed, without the words behind the name of a C function."""
        if dated:
            return None
        found = _FATAL.search(text)
        if found:
            named = found["function"]
            kind = f"Fatal Python error: {named or found['words']}"
            return _Dump(ParsedException(kind, found["words"] if named else "", None, ())), found.start()
        found = _TIMEOUT.search(text)
        if found:
            return _Dump(None), found.start()
        found = _THREAD.search(text)
        if found:
            dump = _Dump(None)
            dump.start_line(text[found.start() :])
            return dump, found.start()
        return None
