"""C++ exceptions that nobody caught, as libstdc++ and libc++ report them, with PyTorch's stack behind the message.

`terminate called after throwing an instance of 'T'`, then `  what():  ...` over as many lines as the message has
(libstdc++, vterminate.cc), then what c10::Error adds: `Exception raised from ...` and the frames, innermost first.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import ClassVar

from ddtree_ops.triage.block import Frame, Language, Origin, ParsedException
from ddtree_ops.triage.blocks.collector import Collector, Draft, Result
from ddtree_ops.triage.blocks.cpp_frames import RAISED_LITERAL, parse_cpp_frame, raised_at
from ddtree_ops.triage.blocks.exception_lines import is_other

_MESSAGE_LIMIT = 64 * 1024
_FRAME_LIMIT = 400
_FOREIGN_LIMIT = 40  # lines of other processes within a stack, in logs that don't tell processes apart

_BEGIN = re.compile(
    r"terminate called (?:after throwing an instance of '(?P<type>[^']{0,500}?)(?:'|terminate called|$)"
    r"|without an active exception|recursively)"
    r"|libc\+\+abi: terminating (?:due to|with) uncaught exception of type (?P<other>[^\s:]{1,300}(?:::[^\s:]{1,300}){0,20})"
    r"(?:: (?P<message>.*))?$"
)
# several processes that abort at once may write their `what()` before any of them its message
_WHAT = re.compile(r"\s{0,4}what\(\):\s{0,2}(?:  what\(\):  ){0,64}(?P<message>.*)$")
# Lines that can't belong to a message: a shell's or another handler's words about the same abort.
_AFTER = re.compile(
    r"Fatal Python error: |Traceback \(most recent call last\):|\*\*\* |Aborted\b"
    r"|(?:\S{1,40}: )?line \d{1,6}: +\d{1,9} Aborted|!!!!!!! |Current thread 0x|Thread 0x"
    r"|\[[^\]\s]{1,80}:\d{1,9}\] \*\*\* "
)
_RANK = re.compile(r"\[(?:[^\][]{0,80} )?Rank (?P<rank>\d{1,6})\]")


class _State(Enum):
    OPEN = auto()
    MESSAGE = auto()
    FRAMES = auto()
    LATER_FRAMES = auto()  # the stack of a handler that threw the same message again


class _Terminate:
    def __init__(self, kind: str, message: str | None) -> None:
        self._type = kind
        self._message: list[str] = [] if message is None else [message]
        self._state = _State.OPEN if message is None else _State.MESSAGE
        self._raised: Frame | None = None
        self._frames: list[Frame] = []
        self._size = self._blanks = self._foreign = 0

    def take(self, text: str, dated: bool, /) -> bool:
        if not text.strip():
            self._blanks += 1
            return self._blanks <= _FOREIGN_LIMIT
        if dated:
            return self._state is not _State.MESSAGE and self._pass_over()
        if self._state is _State.OPEN and (what := _WHAT.match(text)):
            self._state = _State.MESSAGE
            return self._add(what["message"])
        if RAISED_LITERAL in text and (raised := raised_at(text)):
            self._state = _State.LATER_FRAMES if self._frames else _State.FRAMES
            self._raised = self._raised or raised
            return True
        if frame := parse_cpp_frame(text):
            return self._add_frame(*frame)
        if self._state is _State.MESSAGE:
            return not (_AFTER.match(text) or "terminate called " in text or is_other(text)) and self._add(text)
        return self._pass_over() if not _AFTER.match(text) else False

    def finish(self) -> Result:
        frames = self._frames
        if self._raised and frames:
            frames = [self._raised, *frames[1:]]  # frame #0 is the exception's own constructor
        elif self._raised:
            frames = [self._raised]
        message = "\n".join(self._message).rstrip()
        exception = ParsedException(self._type, message, None, tuple(reversed(frames)), language=Language.CPP)
        rank = _RANK.search(message[:300])
        return Result((exception,), rank=f"rank{rank['rank']}" if rank else None)

    def _add(self, text: str) -> bool:
        blanks, self._blanks = self._blanks if self._message else 0, 0
        self._size += len(text)
        if self._size <= _MESSAGE_LIMIT:
            self._message += [*[""] * blanks, text.rstrip()]
        return True

    def _add_frame(self, number: int, frame: Frame) -> bool:
        if number == 0 and self._frames:
            self._state = _State.LATER_FRAMES
        if self._state is not _State.LATER_FRAMES and len(self._frames) < _FRAME_LIMIT:
            self._state = _State.FRAMES
            self._frames.append(frame)
        return True

    def _pass_over(self) -> bool:
        self._foreign += 1
        return self._foreign <= _FOREIGN_LIMIT


class Terminates(Collector):
    """Blocks of `terminate called ...`."""

    literals: ClassVar[tuple[str, ...]] = ("terminate called ", "libc++abi: terminating")
    origin: ClassVar[Origin] = Origin.TERMINATE

    def begin(self, text: str, dated: bool, /) -> tuple[Draft, int] | None:
        """An uncaught exception, or a thread that was destroyed while it ran: then the type is `std::terminate`."""
        found = _BEGIN.search(text[:2000])
        if not found or dated:
            return None
        kind = found["type"] or found["other"]
        if kind is None:
            return _Terminate("std::terminate", found[0]), found.start()
        return _Terminate(kind or "unknown", found["message"]), found.start()
