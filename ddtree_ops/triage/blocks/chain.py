"""A chain of exceptions while its lines arrive: pure text, whatever stood before it undone already.

What can't be told apart in print stays together: an exception's notes (PEP 678) are printed as further lines of its
message, so they are in `message`. The place of a syntax error is in `notes`.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto

from ddtree_ops.triage.block import Frame, Relation
from ddtree_ops.triage.blocks import frames as shapes
from ddtree_ops.triage.blocks.draft import Draft, is_blank_or_markers, is_code
from ddtree_ops.triage.blocks.drawing import Drawn, Part, read_drawn
from ddtree_ops.triage.blocks.exception_lines import RELATIONS, ExceptionLine, is_other, may_stand_alone, parse_exception
from ddtree_ops.triage.blocks.headers import ends_with_header
from ddtree_ops.triage.blocks.quotes import Quote, closes, continues, may_follow, quote_of

_EXCEPTION_LIMIT = 64
_STRANGER_LIMIT = 40  # lines of others within a traceback before it counts as broken off
_UNSURE_LIMIT = 3  # before the first frame, or where the header is missing


class State(Enum):
    """Where in a traceback the reader stands."""

    FRAMES = auto()
    MESSAGE = auto()  # the exception line was read: complete unless its message goes on
    CHAIN = auto()  # after "the above exception ..." or a group's dividing line


class Verdict(Enum):
    """What a line was. STRANGE: none of this traceback's, which goes on all the same."""

    TAKEN = auto()
    STRANGE = auto()
    OVER = auto()


class Chain:
    """Feed it lines; `drafts` are the exceptions in printed order.

    `drawn`: the header was a group's. `headless`: the header is missing, so only a plain exception ends the frames.
    """

    def __init__(self, *, drawn: bool = False, headless: bool = False) -> None:
        self.drafts = [Draft(None, complete=not headless)]
        self.state = State.FRAMES
        self.blanks = 0
        self.exception_read = False  # by the latest line
        self._headless = headless
        self._drawn = drawn
        self._closed = False
        self._members: list[tuple[int, Draft | None]] = []
        self._strangers = 0
        self._waiting = False
        self._flat = False
        self._quote: Quote | None = None

    @property
    def current(self) -> Draft:
        """The exception that the next line belongs to."""
        return self.drafts[-1]

    @property
    def untouched(self) -> bool:
        """Whether nothing but the header was read."""
        return len(self.drafts) == 1 and not self.current.frames and not self.current.place and not self.current.type

    def begin_with(self, text: str) -> None:
        """Without a header: the exception line is the first that was printed."""
        exception = parse_exception(text)
        if exception:
            self._set_exception(exception)
            self.current.complete = True

    def join(self, text: str) -> None:
        """The rest of a message line that was wrapped."""
        if self.current.message:
            self.current.message[-1] += f" {text.strip()}"

    def amend_frame(self, frame: Frame) -> None:
        """The latest frame's line was cut; this is the whole of it."""
        draft = self.current
        if draft.place:
            draft.place = []
            draft.add_frame(frame)
        elif draft.frames:
            draft.frames[-1] = frame

    def amend(self, rest: str) -> None:
        """The latest line of a message or of code was cut; this is the rest."""
        draft = self.current
        if self.state is State.MESSAGE and draft.message:
            draft.message[-1] += rest.rstrip()
        elif draft.frames and draft.frames[-1].code:
            draft.frames[-1] = replace(draft.frames[-1], code=draft.frames[-1].code + rest.rstrip())

    def stranger(self) -> Verdict:
        """A line that surely is somebody else's: a message that it interrupts goes on only with a further exception."""
        self._strangers += 1
        self._waiting = self.state is State.MESSAGE
        unsure = self.state is State.FRAMES and (self._headless or self.untouched)
        if self._strangers > (_UNSURE_LIMIT if unsure else _STRANGER_LIMIT):
            self.current.complete = self.current.complete and self.state is State.MESSAGE
            return Verdict.OVER
        return Verdict.STRANGE

    def take(self, text: str) -> Verdict:
        """Take a line."""
        self.exception_read = False
        drawn = read_drawn(text) if self._may_be_drawn(text) else None
        if drawn:
            return self._take_drawn(drawn)
        if self._drawn and text.strip() and not self._leaves_drawing(text):
            return Verdict.OVER if self._closed or ends_with_header(text) else self.stranger()
        return self._take_text(text)

    def _take_text(self, text: str) -> Verdict:
        if self.state is State.FRAMES:
            return self._in_frames(text)
        return self._in_message(text) if self.state is State.MESSAGE else self._in_chain(text)

    def _leaves_drawing(self, text: str) -> bool:
        """Without a margin the chain goes on, or a message: the interpreter's own printer (3.11, 3.12) draws none there."""
        if self.state is not State.MESSAGE:
            return False
        if text.strip() not in RELATIONS:
            return not self._closed and not ends_with_header(text)
        self._drawn = False
        self._members.clear()
        return True

    def _may_be_drawn(self, text: str) -> bool:
        """A message may hold tables: outside a group's drawing only its own lines begin one."""
        if self._drawn:
            return True
        if "+-+-----" in text or (self.state is State.CHAIN and text.lstrip().startswith(("| ", "+ Exception Group"))):
            self._drawn = self._quote is None and read_drawn(text) is not None
        return self._drawn

    def _take_drawn(self, drawn: Drawn) -> Verdict:
        members = self._members
        while members and members[-1][0] > drawn.column - (drawn.part is Part.OPEN):
            members.pop()
        if drawn.part is Part.TEXT:
            return self._take_text(drawn.text)
        self._waiting = False
        if drawn.part is Part.CLOSE:
            self._closed = True
            self.state = State.MESSAGE
            return Verdict.TAKEN
        if drawn.part is Part.OPEN:
            members.append((drawn.column, self.current))
        self._start(Draft(Relation.GROUP, parent=members[-1][1] if members else None))
        return Verdict.TAKEN

    def _in_frames(self, text: str) -> Verdict:
        draft, frame = self.current, shapes.parse_frame(text)
        if frame:
            self._flat = not text[:1].isspace()
            draft.add_frame(frame)
            return Verdict.TAKEN
        if is_blank_or_markers(text):
            draft.add_markers(text)
            return Verdict.TAKEN
        count = shapes.repeated(text)
        if count is not None:
            draft.repeat(count)
            return Verdict.TAKEN
        begun = bool(draft.frames or draft.place)
        if begun and is_code(text):
            draft.add_code(text)
            return Verdict.TAKEN
        return self._after_frames(text, begun)

    def _after_frames(self, text: str, begun: bool) -> Verdict:
        exception = None if is_other(text) else parse_exception(text)
        if exception and (may_stand_alone(exception.type) if self._headless else exception.sure or begun):
            self._set_exception(exception)
            return Verdict.TAKEN
        if ends_with_header(text):
            self.current.complete = False
            return Verdict.OVER
        frames = self.current.frames
        if self._flat and frames and frames[-1].code is None and not is_other(text):  # a logger took the indentation
            self.current.add_code(text)
            return Verdict.TAKEN
        return self.stranger()

    def _in_message(self, text: str) -> Verdict:
        stripped, draft = text.strip(), self.current
        if not stripped:
            self.blanks += 1
            return Verdict.TAKEN
        if stripped in RELATIONS and not (self._quote and continues(self._quote, draft.message)):
            self._start(Draft(RELATIONS[stripped], parent=self._members[-1][1] if self._members else None))
            return Verdict.TAKEN
        if self._waiting:
            return Verdict.OVER if ends_with_header(text) else self.stranger()
        if not draft.sure and not self._quote and draft.frames and shapes.parse_frame(text):
            return self._was_none(text)
        return self._more_message(text)

    def _more_message(self, text: str) -> Verdict:
        draft, is_header = self.current, ends_with_header(text)
        if self._quote is None:
            self._quote = quote_of(text, draft)
            draft.quotes = draft.quotes or self._quote is not None
        elif self._quote is not Quote.TRIPLE and is_header:
            if self._quote is Quote.RAY and draft.last_line in RELATIONS:
                return self._chain_goes_on_outside()
            is_header = not may_follow(draft.last_line)
            self._quote = None if is_header else self._quote
        elif closes(self._quote, text):
            self._quote = None
            is_header = False
        if self._quote is None and is_header:
            return Verdict.OVER
        if self._quote is not Quote.TRIPLE and is_other(text):
            return self.stranger()
        for _ in range(self.blanks):
            draft.add_message("")
        self.blanks = 0
        draft.add_message(text)
        return Verdict.OVER if draft.full else Verdict.TAKEN

    def _chain_goes_on_outside(self) -> Verdict:
        """A quote of ray's has headers of its own, so this one follows a relation that was none of the quote's."""
        message = self.current.message
        while message and message[-1] not in RELATIONS:
            message.pop()
        self._start(Draft(RELATIONS[message.pop()]))
        self.state = State.FRAMES
        return Verdict.TAKEN

    def _was_none(self, text: str) -> Verdict:
        """What looked like an exception was somebody else's line: the frames go on."""
        draft = self.current
        draft.type, draft.sure, draft.size = "", True, 0
        draft.message.clear()
        self.state = State.FRAMES
        return self._in_frames(text)

    def _in_chain(self, text: str) -> Verdict:
        stripped = text.strip()
        if not stripped:
            return Verdict.TAKEN
        if ends_with_header(text):
            self.state = State.FRAMES
            return Verdict.TAKEN
        if shapes.parse_frame(text):  # the header was lost
            self.state, self.current.complete = State.FRAMES, False
            return self._in_frames(text)
        exception = None if is_other(text) else parse_exception(text)
        if exception:  # an exception that never was raised has no traceback of its own
            self._set_exception(exception)
            return Verdict.TAKEN
        if self._drawn and self._members:  # "and 3 more exceptions", "... (max_group_depth is 10)"
            self.state = State.MESSAGE
            if self.current.parent:
                self.current.parent.complete = False
            return Verdict.TAKEN
        return self.stranger()

    def _start(self, draft: Draft) -> None:
        if len(self.drafts) >= _EXCEPTION_LIMIT:
            del self.drafts[1]
            self.drafts[0].complete = False
        self.drafts.append(draft)
        self.state, self.blanks, self._strangers = State.CHAIN, 0, 0
        self._quote, self._waiting, self._closed = None, False, False

    def _set_exception(self, exception: ExceptionLine) -> None:
        draft = self.current
        draft.type, draft.sure = exception.type, exception.sure
        self.state, self.blanks, self._waiting = State.MESSAGE, 0, False
        self._quote = quote_of(exception.message, draft)
        draft.quotes = self._quote is not None
        draft.add_message(exception.message)
        self.exception_read = True
