"""Lines that a terminal cut at its width: a traceback that was copied from a screen.

Nothing is taken for cut until a frame's line shows it: the line breaks off within the frame and the next one, which is
indented by nothing and bears no logger's prefix, makes it whole. From then on every line of that length goes on in the next.
"""

from __future__ import annotations

import re

from ddtree_ops.triage.blocks.chain import Chain, State
from ddtree_ops.triage.blocks.exception_lines import parse_exception
from ddtree_ops.triage.blocks.frames import parse_frame
from ddtree_ops.triage.blocks.headers import ends_with_header
from ddtree_ops.triage.lines import Line, Prefix

_NARROWEST = 40  # characters of a terminal
_LONGEST = 1000
_JOINED_LIMIT = 16_384
_SHORTER = 4  # where a prefix tells which lines are rests, some copies have rests a bit shorter than the first part
_BEGINS_FRAME = re.compile(r'[ \t]*File "')
_NAME = re.compile(r"[\w<>.]{1,300}")  # from 3.11 on with its class, `<locals>` and `<lambda>`
_REST_OF_NAME = re.compile(r"(?:\d{0,12}, in )?[a-z0-9_<>.][\w<>.]{0,120}$")  # `Killed` is a shell's word


class Wrapped:
    """Joins them again. Tell it each line that was taken (`note`), and ask it of the next one first (`join`)."""

    def __init__(self) -> None:
        self._width: int | None = None
        self._text = ""  # of the latest line, as it stands in the traceback
        self._length = 0  # of the whole line
        self._pid: int | None = None  # of who wrote it
        self._held: str | None = None  # the beginning of a frame, which no chain has seen yet

    def note(self, line: Line, text: str) -> None:
        """The latest line; one that is longer than the width shows that it was none."""
        self._text, self._length, self._pid = text, len(line.text), line.entry.pid
        if self._width is not None and self._length > self._width:
            self._width = None

    def holds(self, line: Line, text: str, chain: Chain) -> bool:
        """Whether the line is the beginning of a frame, kept until the next one came."""
        begun = chain.state is State.FRAMES and _BEGINS_FRAME.match(text) is not None and parse_frame(text) is None
        if begun and _NARROWEST <= len(line.text) <= _LONGEST:
            self._held = text
            self.note(line, text)
            return True
        return False

    def release(self) -> str | None:
        """What is held, if no rest of it came."""
        held, self._held = self._held, None
        return held

    def join(self, line: Line, prefix: Prefix, chain: Chain, *, each: bool) -> bool:
        """Whether the line is the rest of the latest one; it is added there."""
        text = line.text
        if (
            prefix.stamp
            or line.entry.pid != self._pid  # a terminal's copy has none
            or not text.strip()
            or not self._text
            or len(self._text) > _JOINED_LIMIT
            or ends_with_header(text)
            or _BEGINS_FRAME.match(text)
        ):
            return False
        short = self._width - self._length if self._width is not None else _LONGEST
        known = short <= (_SHORTER if each else 1)
        whole = self._text + (" " if short == 1 else "") + text  # the blank at the cut was lost
        frame = parse_frame(whole) if _BEGINS_FRAME.match(whole) else None
        frame = frame if frame and _NAME.fullmatch(frame.function or "") else None
        if frame is None and self._held is not None and known and len(text) == self._length:
            self._held = whole  # cut twice
        elif frame is not None and (self._held is not None or known or self._shows(text)):
            if self._held is not None:
                self._held = None
                chain.take(whole)
            else:
                chain.amend_frame(frame)
            self._width = self._width or self._length
        elif known and self._held is None and (each or chain.state is State.MESSAGE or not parse_exception(text)):
            chain.amend(whole[len(self._text.rstrip()) :])
        else:
            return False
        self.note(line, whole)
        return True

    def _shows(self, text: str) -> bool:
        """Whether what follows a whole frame can only be the rest of its last name."""
        wide = _NARROWEST <= self._length <= _LONGEST
        return wide and _REST_OF_NAME.match(text) is not None and not parse_exception(text)
