"""One exception while its lines arrive."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ddtree_ops.triage.block import UNNAMED, Frame, ParsedException, Relation
from ddtree_ops.triage.blocks import frames as shapes

_FRAME_LIMIT = 400  # per exception; of more, the outermost and innermost half are kept
_CODE_LINES = 12
MESSAGE_LIMIT = 64 * 1024


@dataclass(slots=True, eq=False)
class Draft:
    """What was read of it so far. `parent`: the group that holds it. `quotes`: a traceback stands within its message."""

    relation: Relation | None
    parent: Draft | None = None
    type: str = ""
    sure: bool = True
    message: list[str] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    place: list[str] = field(default_factory=list)
    complete: bool = True
    quotes: bool = False
    size: int = 0

    @property
    def full(self) -> bool:
        """Whether no more of its message can be kept."""
        return self.size > MESSAGE_LIMIT

    @property
    def last_line(self) -> str:
        """The last line of its message that isn't empty."""
        return next((line for line in reversed(self.message) if line), "")

    def add_frame(self, frame: Frame) -> None:
        """The next inner frame. The place of a syntax error is none: CPython's own stack hasn't got it either."""
        if frame.function is None:
            self.place = [f'File "{frame.file}", line {frame.line}']
            return
        self.place = []
        self.frames.append(frame)
        if len(self.frames) > _FRAME_LIMIT:
            del self.frames[_FRAME_LIMIT // 2]
            self.complete = False

    def add_code(self, text: str) -> None:
        """A line of code below the last frame: further ones follow (3.13 shows several, folded), or `locals`."""
        if self.place:
            self.place += [text[4:].rstrip()] if len(self.place) < _CODE_LINES else []
        elif self.frames:
            last = self.frames[-1]
            if last.code is None:
                self.frames[-1] = replace(last, code=text.strip())
            elif last.code.count("\n") < _CODE_LINES:
                self.frames[-1] = replace(last, code=f"{last.code}\n{text.removeprefix('    ').rstrip()}")

    def repeat(self, count: int) -> None:
        """The last frame was there `count` times more."""
        if self.frames:
            self.frames[-1] = replace(self.frames[-1], repeated=count)

    def add_markers(self, text: str) -> None:
        """Carets: of a frame they tell nothing that the code doesn't; of a syntax error they are the point."""
        if self.place:
            self.add_code(text)

    def add_message(self, text: str) -> None:
        """A line of its message; blanks at the end of lines aren't kept: many a log loses them."""
        self.size += len(text) + 1
        if self.full:
            self.complete = False
        else:
            self.message.append(text.rstrip())

    def result(self, kept: list[Draft]) -> ParsedException:
        """`kept` are the drafts that are reported: a group whose own lines were lost has no members there."""
        parent = next((index for index, draft in enumerate(kept) if draft is self.parent), None)
        return ParsedException(
            self.type or UNNAMED,
            "\n".join(self.message).rstrip(),
            self.relation,
            tuple(self.frames),
            self.complete and bool(self.type),
            parent=parent,
            notes=("\n".join(self.place),) if self.place else (),
        )


def is_code(text: str) -> bool:
    """Whether the line is indented as code below a frame is."""
    return text.startswith(("    ", "\t"))


def is_blank_or_markers(text: str) -> bool:
    """A line between a frame's code and the next frame that tells nothing."""
    return not text.strip() or shapes.is_markers(text)
