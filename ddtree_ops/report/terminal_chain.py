"""Exceptions and threads for a terminal, in the order in which Python prints them: the raising frame and the message last."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.report.failure_parts import Stack, depth, ending, own_frames, stacks
from ddtree_ops.report.terminal_page import Page
from ddtree_ops.report.wording import RELATIONS, headline, location, thread_name
from ddtree_ops.triage.block import Frame, Language, ParsedException
from ddtree_ops.triage.model import Failure

_ENDING_FRAMES, _OTHER_FRAMES = 6, 3
_EXCEPTIONS = 12  # the first and the last ones of a longer chain
_MESSAGE_LINES, _MESSAGE_LENGTH = 16, 2400
_NOTES = 4
_CODE_LINES = 3
_STACKS = 3


def chain(page: Page, failure: Failure) -> Iterator[str]:
    """Every exception with its own frames and code, and between them how one follows from the other."""
    last = ending(failure)
    skipped = range(_EXCEPTIONS // 2, len(failure.exceptions) - _EXCEPTIONS // 2)
    for index, exception in enumerate(failure.exceptions):
        if index in skipped:
            if index == skipped[0]:
                yield page.line("dim", f"… {len(skipped)} more exceptions; the JSON report has them", 2)
            continue
        indent = 2 + 2 * min(depth(failure.exceptions, index), 6)
        if exception.relation:
            yield ""
            yield page.line("strong", f"{RELATIONS[exception.relation]}", indent)
            yield ""
        yield from _exception(page, exception, indent, _ENDING_FRAMES if exception is last else _OTHER_FRAMES)


def threads(page: Page, failure: Failure) -> Iterator[str]:
    """Where the threads stood, equal ones once, the current one first."""
    every = stacks(failure.threads)
    for stack in every[:_STACKS]:
        yield page.line("strong", _who(stack), 2)
        yield from _frames(page, stack.frames, 4, _ENDING_FRAMES if stack.current else _OTHER_FRAMES)
    if len(every) > _STACKS:
        more = sum(len(stack.threads) for stack in every[_STACKS:])
        yield page.line("dim", f"… {more} more threads; the JSON report has them", 2)


def _who(stack: Stack) -> str:
    count = f"{len(stack.threads)} threads: " if len(stack.threads) > 1 else "thread "
    names = ", ".join(thread_name(thread) for thread in stack.threads[:4])
    return f"{count}{names}{', …' if len(stack.threads) > 4 else ''}{', the current one' if stack.current else ''}"


def _exception(page: Page, exception: ParsedException, indent: int, count: int) -> Iterator[str]:
    yield from _frames(page, exception.frames, indent, count)
    yield from _message(page, exception, indent)
    for note in exception.notes[:_NOTES]:
        for line in note.split("\n")[:_NOTES]:
            yield from page.paragraph("dim", line, indent)
    if len(exception.notes) > _NOTES:
        yield page.line("dim", f"… {len(exception.notes) - _NOTES} more notes", indent)
    if not exception.complete:
        yield page.line("dim", "(the log lost part of this)", indent)


def _message(page: Page, exception: ParsedException, indent: int) -> Iterator[str]:
    words = "" if exception.language is Language.PYTHON else f" [{exception.language.value}]"
    text = headline(exception) + words
    lines = text[:_MESSAGE_LENGTH].rstrip().split("\n")
    for line in lines[:_MESSAGE_LINES]:
        margin = len(line) - len(line.lstrip())
        yield from (
            page.paragraph("bad", line.lstrip(), indent + 2, indent)
            if not margin
            else page.paragraph("bad", line.lstrip(), min(indent + margin, page.width // 2))
        )
    left = len(text) - sum(len(line) + 1 for line in lines[:_MESSAGE_LINES])
    if left > 0:
        yield page.line("dim", f"… {left:,} more characters; the JSON report has the message whole", indent)


def _frames(page: Page, frames: tuple[Frame, ...], indent: int, count: int) -> Iterator[str]:
    chosen = own_frames(frames)
    shown = chosen[-count:]
    left = len(frames) - len(shown)
    if left > 0:
        yield page.line("dim", f"… {left} {'frame' if left == 1 else 'frames'} further out or of libraries", indent)
    for frame in shown:
        yield page.line("place", location(frame, page.width - indent), indent)
        window = frame.source if frame is shown[-1] else None
        for line in window or ():
            yield page.line("strong" if line.startswith(">") else "dim", line, indent + 2)
        if not window:
            code = [line for line in (frame.code or "").split("\n") if line.strip()]
            for line in code[:_CODE_LINES]:
                yield page.line("", line, indent + 2)
