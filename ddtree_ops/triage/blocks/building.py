"""One traceback while its lines arrive."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, auto

from ddtree_ops.triage.block import Block, Frame, ParsedException, Relation
from ddtree_ops.triage.blocks import frames as shapes
from ddtree_ops.triage.lines import Line, evidence

_FRAME_LIMIT = 400  # per exception; of more, the outermost and innermost half are kept
_MESSAGE_LIMIT = 64 * 1024
_CODE_LINES = 12
_EXCEPTION_LIMIT = 64
_FOREIGN_LIMIT = 40  # other threads' lines within a traceback before it counts as broken off


class State(Enum):
    """Where in a traceback the reader stands."""

    FRAMES = auto()
    MESSAGE = auto()  # the exception line was read: complete unless its message goes on
    CHAIN = auto()  # after "the above exception ..." or a group's dividing line


@dataclass(slots=True)
class _Draft:
    relation: Relation | None
    parent: _Draft | None = None
    type: str = ""
    message: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    complete: bool = True
    size: int = 0

    def result(self, kept: list[_Draft]) -> ParsedException:
        """`kept` are the drafts that are reported: a group whose own lines were lost has no members there."""
        message = "\n".join(self.message).rstrip()
        complete = self.complete and bool(self.type)
        parent = next((index for index, draft in enumerate(kept) if draft is self.parent), None)
        return ParsedException(self.type or "unknown", message, self.relation, tuple(self.frames), complete, parent=parent)


class Building:
    """Collects exceptions, frames and messages in printed order; `take` says whether a line belonged to it."""

    def __init__(self, line: Line, *, rank: str | None, header: str, record: bool) -> None:
        self.rank, self.header, self.record = rank, header, record
        self.pid, self.comm = line.entry.pid, line.entry.comm
        self.first_us = self.last_us = line.entry.realtime_us
        self.state = State.FRAMES
        self.blanks = 0
        self._foreign = 0
        self._quoted = False
        self._groups: list[_Draft] = []
        self._drafts = [_Draft(None)]
        self._evidence = [evidence(line)]
        self._cut = line.entry.truncated

    @property
    def untouched(self) -> bool:
        """Whether nothing but the header was read."""
        return not self._drafts[0].frames and not self._drafts[0].type

    def take(self, text: str, line: Line, *, dated: bool) -> bool:
        """Take the process's next line; False if it is no part of this traceback, which then is over."""
        text = self._outside_groups(text)
        if self.state is State.FRAMES:
            taken = self._in_frames(text, line, dated)
        elif self.state is State.MESSAGE:
            taken = self._in_message(text, dated)
        else:
            taken = self._in_chain(text, line, dated)
        if taken:
            self.last_us = line.entry.realtime_us
            self._cut = self._cut or line.entry.truncated
        return taken

    def finish(self) -> Block | None:
        """The result; None if not even one frame or exception was read."""
        drafts = [item for item in self._drafts if item.type or item.frames]
        if not drafts:
            return None
        drafts[-1].complete = drafts[-1].complete and not self._cut
        return Block(
            pid=self.pid,
            rank=self.rank,
            comm=self.comm,
            header=self.header,
            record=self.record,
            exceptions=tuple(item.result(drafts) for item in drafts),
            evidence=tuple(self._evidence),
            first_us=self.first_us,
            last_us=self.last_us,
        )

    def _in_frames(self, text: str, line: Line, dated: bool) -> bool:
        draft = self._drafts[-1]
        frame = shapes.parse_frame(text)
        if frame:
            draft.frames.append(frame)
            if len(draft.frames) > _FRAME_LIMIT:
                del draft.frames[_FRAME_LIMIT // 2]
                draft.complete = False
            return True
        if not text.strip() or shapes.is_markers(text):
            return True
        if text.startswith(("    ", "\t", "  [")) and draft.frames:
            self._add_code(text)
            return True
        exception = None if dated or shapes.is_other(text) else shapes.parse_exception(text)
        if exception:
            self._set_exception(exception, line)
            return True
        self._foreign += 1
        over = self._foreign > _FOREIGN_LIMIT or (dated and not draft.frames) or text.endswith(shapes.HEADER)
        draft.complete = draft.complete and not over
        return not over

    def _in_message(self, text: str, dated: bool) -> bool:
        if self._quoted:  # a remote traceback within triple quotes is this exception's message
            self._quoted = text.strip() != '"""'
            self._add_message(text)
            return True
        stripped = text.strip()
        if not stripped:
            self.blanks += 1
            return True
        if stripped in shapes.RELATIONS:
            self._start(_Draft(shapes.RELATIONS[stripped], parent=self._groups[-1] if self._groups else None))
            return True
        if dated or stripped.endswith(shapes.HEADER) or shapes.is_other(text):
            return False
        for _ in range(self.blanks):
            self._add_message("")
        self._quoted = stripped == '"""'
        self._add_message(text)
        return True

    def _in_chain(self, text: str, line: Line, dated: bool) -> bool:
        stripped = text.strip()
        if not stripped:
            return True
        if stripped.endswith(shapes.HEADER) and not dated:
            self.state = State.FRAMES
            return True
        exception = None if dated or shapes.is_other(text) else shapes.parse_exception(text)
        if exception:  # an exception that never was raised has no traceback of its own
            self._set_exception(exception, line)
            return True
        return False

    def _start(self, draft: _Draft) -> None:
        if len(self._drafts) >= _EXCEPTION_LIMIT:
            del self._drafts[1]
        self._drafts.append(draft)
        self.state, self.blanks, self._quoted = State.CHAIN, 0, False

    def _set_exception(self, exception: tuple[str, str], line: Line) -> None:
        draft = self._drafts[-1]
        draft.type, first = exception
        self.state, self.blanks = State.MESSAGE, 0
        self._add_message(first)
        if len(self._evidence) < 8:
            self._evidence.append(evidence(line))

    def _add_message(self, text: str) -> None:
        draft = self._drafts[-1]
        draft.size += len(text)
        if draft.size > _MESSAGE_LIMIT:
            draft.complete = False
        else:
            draft.message.append(text.rstrip())
        self.blanks = 0

    def _add_code(self, text: str) -> None:
        frames = self._drafts[-1].frames
        last, count = frames[-1], shapes.repeated(text)
        if count is not None:
            frames[-1] = replace(last, repeated=count)
        elif last.code is None:
            frames[-1] = replace(last, code=text.strip())
        elif last.code.count("\n") < _CODE_LINES:
            frames[-1] = replace(last, code=f"{last.code}\n{text.strip()}")

    def _outside_groups(self, text: str) -> str:
        """Follow an exception group's drawing (`+-+--- 1 ---`, `|`), and give the line as it stands inside."""
        inside, divider = shapes.group_line(text)
        if divider is None:
            return inside
        if divider.opens:
            self._groups.append(self._drafts[-1])
        if divider.closes:
            if self._groups:
                self._groups.pop()
        elif self._groups:
            self._start(_Draft(Relation.GROUP, parent=self._groups[-1]))
        return ""
