"""A failure report as Markdown for an issue tracker: the answer first, long things folded, all log text where it can do nothing.

Text from the log stands in code blocks and code spans, or is escaped: GitHub makes no mentions, links or references of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ddtree_ops.report.failure_parts import by_value, depth, ending, own_frames, stacks
from ddtree_ops.report.root_line import log_lines, root_line
from ddtree_ops.report.safe_text import code_span, cut, fenced, markdown, rfc3339
from ddtree_ops.report.timeline import Timeline, Tone, merged_draft
from ddtree_ops.report.wording import RELATIONS, cause, device_words, elapsed, fixes, headline, location, minor, place
from ddtree_ops.report.wording import thread_name as named
from ddtree_ops.triage.block import Evidence, Frame, ParsedException
from ddtree_ops.triage.model import Failure, Role

_FRAMES, _OTHER_FRAMES = 8, 3
_MESSAGE = 4000  # characters of a message: an issue may have 65,536
_CHAIN = 20000
_EVIDENCE = 30
_MINOR = 40


def report_markdown(heading: str, notes: Iterable[str], failures: tuple[Failure, ...], story: Timeline | None) -> str:
    """The whole document; the texts are clean already (`cleaning`)."""
    parts = [f"# {markdown(heading)}"]
    parts += [f"**Note**: {markdown(item)}" for item in notes]
    roots = [item for item in failures if item.role is Role.ROOT]
    for failure in roots or [item for item in failures if item.role is Role.REQUEST][:1]:
        parts += _root(failure)
    if story and failures:
        parts.append(_folded("Timeline", fenced("\n".join(_timeline(story)))))
    others = [item for item in failures if item.role is not Role.ROOT]
    if others:
        listed = "\n".join(f"- {markdown(minor(item))}" for item in others[:_MINOR])
        more = f"\n- and {len(others) - _MINOR} more" if len(others) > _MINOR else ""
        parts.append(f"## Also in the log\n\n{listed}{more}")
    return "\n\n".join(parts) + "\n"


def _root(failure: Failure) -> Iterator[str]:
    where = place(failure)
    yield f"## {markdown(failure.title)}"
    facts = [code_span(failure.kind.value) + (f" {markdown(where)}" if where else "")]
    facts.append(f"{failure.count}x, first at {rfc3339(failure.first_us) or 'an unknown time'}")
    yield ", ".join((*facts, f"fingerprint {code_span(failure.fingerprint)}"))
    yield f"**Cause**: {markdown(cause(failure))}"
    if failure.numbers:
        yield _numbers(failure)
    yield "**Fix**\n\n" + "\n".join(f"{index}. {markdown(item)}" for index, item in enumerate(fixes(failure), 1))
    last = ending(failure)
    if last is None:
        yield fenced("\n".join(_marked(failure)[-_EVIDENCE:]))
    else:
        yield fenced(cut("\n".join(_chain(failure, last)), _CHAIN))
    yield from _details(failure, last)


def _details(failure: Failure, last: ParsedException | None) -> Iterator[str]:
    if last and any(len(item.frames) > len(_told(item, item is last)) for item in failure.exceptions):
        frames = sum(len(item.frames) for item in failure.exceptions)
        yield _folded(f"All {frames} frames", fenced(cut("\n".join(_chain(failure, None)), _CHAIN)))
    sources = [frame for item in failure.exceptions for frame in item.frames if frame.source]
    if sources:
        windows = ["\n".join((location(item), *(item.source or ()))) for item in sources]
        yield _folded("Installed source", fenced("\n\n".join(windows)))
    if failure.threads:
        yield _folded(f"Threads: {len(failure.threads)}", fenced(cut("\n".join(_threads(failure)), _CHAIN)))
    if failure.devices:
        yield "**Devices**: " + "; ".join(markdown(device_words(item)) for item in failure.devices)
    if last:
        yield _folded("Lines of the log", fenced("\n".join(_marked(failure)[-_EVIDENCE:])))


def _numbers(failure: Failure) -> str:
    rows = [
        f"| **{value}** | {markdown(item.expression)} | {markdown(item.source)} |"
        for value, items in by_value(failure.numbers)
        for item in items
    ]
    return "\n".join(("| Number | What it is | Known from |", "|---:|---|---|", *rows))


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _chain(failure: Failure, last: ParsedException | None) -> Iterator[str]:
    """Every exception with its telling frames; with all of them where `last`, the one that ended it, is None."""
    for index, exception in enumerate(failure.exceptions):
        margin = "  " * depth(failure.exceptions, index)
        if exception.relation:
            yield f"\n{margin}{RELATIONS[exception.relation]}\n"
        frames = exception.frames if last is None else _told(exception, exception is last)
        yield from (margin + line for line in _exception(exception, frames))


def _told(exception: ParsedException, ending: bool) -> tuple[Frame, ...]:
    return tuple(own_frames(exception.frames)[-(_FRAMES if ending else _OTHER_FRAMES) :])


def _exception(exception: ParsedException, frames: tuple[Frame, ...]) -> Iterator[str]:
    if len(frames) < len(exception.frames):
        left = len(exception.frames) - len(frames)
        yield f"... {left} {'frame' if left == 1 else 'frames'} further out or of libraries"
    yield from _frames(frames)
    text = headline(exception)
    yield from text[:_MESSAGE].split("\n")
    if len(text) > _MESSAGE:
        yield f"... {len(text) - _MESSAGE:,} more characters"
    yield from exception.notes
    if not exception.complete:
        yield "(the log lost part of this)"


def _frames(frames: tuple[Frame, ...]) -> Iterator[str]:
    for frame in frames:
        yield location(frame)
        yield from (f"    {line}" for line in (frame.code or "").split("\n") if line.strip())


def _threads(failure: Failure) -> Iterator[str]:
    for stack in stacks(failure.threads):
        yield ", ".join(map(named, stack.threads)) + (" (current)" if stack.current else "")
        yield from (f"  {line}" for line in _frames(stack.frames))
        yield ""


def _marked(failure: Failure) -> list[str]:
    mark = root_line(failure)
    return [_line(item, item is mark) for item in log_lines(failure)]


def _line(item: Evidence, marked: bool) -> str:
    number = f"{item.line}: " if item.line is not None else ""
    return f"{'>' if marked else ' '} {number}{item.text}"


def _timeline(story: Timeline) -> Iterator[str]:
    for span in merged_draft(story.phases):
        yield f"+{elapsed(span.begin):<12} {span.name}, {elapsed(span.seconds)}"
    said = dict.fromkeys((moment.at, moment.text, moment.tone) for moment in story.moments)
    for at, text, tone in said:
        yield f"+{elapsed(at):<12} {'' if tone is Tone.SIGN else f'{tone.value}: '}{cut(text, 200)}"
