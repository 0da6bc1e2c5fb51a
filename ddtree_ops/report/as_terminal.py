"""A failure report for a person at a terminal. The root comes last: the eye is at the end of what scrolled by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from ddtree_ops.report.cells import fit, wrap
from ddtree_ops.report.failure_parts import by_value
from ddtree_ops.report.root_line import log_lines, root_line
from ddtree_ops.report.terminal_chain import chain, threads
from ddtree_ops.report.terminal_page import Page
from ddtree_ops.report.timeline import SERVER, Moment, Timeline, Tone, joined, merged_draft
from ddtree_ops.report.wording import cause, device_words, elapsed, fixes, minor, place, seen
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Failure, Role, Verdict

_HEADLINE = {Verdict.FAILURE: "bad", Verdict.NO_FAILURE: "good", Verdict.INCONCLUSIVE: "unsure"}
_TONES = {Tone.ROOT: "bad", Tone.CONSEQUENCE: "unsure"}
_MOMENTS = 6
_MINOR = 12
_EXCERPT_BEFORE, _EXCERPT_AFTER = 6, 2
_MARKED_ROWS = 4
_DEVICES = 8
_LANES = 8
_HANGING = 2


def report_lines(
    page: Page,
    verdict: tuple[Verdict, str],
    notes: Iterable[str],
    failures: tuple[Failure, ...],
    story: Timeline | None,
) -> Iterator[str]:
    """The lines of a whole report. `verdict`: itself and its sentence; everything is clean already (`cleaning`)."""
    yield page.style(_HEADLINE[verdict[0]], verdict[1])
    for note in notes:
        yield from page.labelled("Note", [note])
    others = [item for item in failures if item.role is not Role.ROOT]
    for failure in others[:_MINOR]:
        yield page.line("dim", minor(failure))
    if len(others) > _MINOR:
        yield page.line("dim", f"… {len(others) - _MINOR} more")
    roots = [item for item in failures if item.role is Role.ROOT]
    if roots and story:
        yield from ("", *_timeline(page, story))
    for failure in roots or [item for item in others if item.role is Role.REQUEST][:1]:
        yield from ("", *_root(page, failure))


def _root(page: Page, failure: Failure) -> Iterator[str]:
    details = [*chain(page, failure), *threads(page, failure)]
    if failure.kind is Kind.UNKNOWN or not details:
        details += _excerpt(page, failure)
    yield from details
    if details:
        yield ""
    kind = failure.kind.value
    where = fit(f" {place(failure)}".rstrip(), page.width - len(kind))
    yield page.style("bad" if failure.role is Role.ROOT else "unsure", kind) + where
    yield page.line("strong", failure.title)
    yield from _explanation(page, failure)
    yield from page.labelled("Seen", seen(failure), "dim")


def _explanation(page: Page, failure: Failure) -> Iterator[str]:
    yield from page.labelled("Cause", [cause(failure)], "unsure" if failure.confidence is Confidence.LOW else "")
    yield from page.labelled("Numbers", _numbers(page, failure))
    yield from page.labelled("Devices", [device_words(item) for item in failure.devices[:_DEVICES]])
    yield from page.labelled("Fix", fixes(failure))


def _numbers(page: Page, failure: Failure) -> Iterator[str]:
    """A row for each thing that a number is; what is longer goes on below its beginning."""
    groups = by_value(failure.numbers)
    width = max((len(str(value)) for value, _ in groups), default=0)
    for value, items in groups:
        for index, item in enumerate(items):
            head = f"{value if index == 0 else '':>{width}}{':' if index == 0 else ' '} "
            for part in wrap(f"{item.expression} ({item.source})", page.beside - len(head) - _HANGING):
                yield head + part
                head = " " * (width + 2 + _HANGING)


def _excerpt(page: Page, failure: Failure) -> Iterator[str]:
    """The log around the root line, which is marked; what stands in the traceback above isn't repeated."""
    mark = root_line(failure)
    lines = [item for item in log_lines(failure) if not failure.exceptions or item is mark or item in failure.context]
    at = next((index for index, item in enumerate(lines) if item is mark), len(lines) - 1)
    chosen = lines[max(0, at - _EXCERPT_BEFORE) : at + 1 + _EXCERPT_AFTER]
    if not chosen or (failure.exceptions and len(chosen) < 2):
        return
    if failure.exceptions:
        yield ""
    yield page.line("strong", "In the log" + (f" from line {chosen[0].line:,}" if chosen and chosen[0].line else ""), 2)
    for line in chosen:
        if line is not mark:
            yield page.line("dim", f"  {line.text}", 2)
        elif failure.exceptions:
            yield page.line("bad", f"> {line.text}", 2)
        else:  # nothing above says it: as much of it as a few lines take
            yield from islice(page.paragraph("bad", f"> {line.text}", 4, 2), _MARKED_ROWS)


def _timeline(page: Page, story: Timeline) -> Iterator[str]:
    spans = merged_draft(story.phases)
    if spans:
        yield from page.labelled("Phases", [", ".join(f"{span.name} {elapsed(span.seconds)}" for span in spans)])
    told = joined(story.moments)
    at = next((index for index, (moment, _) in enumerate(told) if moment.tone is Tone.ROOT), 0)
    begin = max(0, min(at - 1, len(told) - _MOMENTS))
    shown = told[begin : begin + _MOMENTS]
    width = max((len(elapsed(moment.at)) for moment, _ in shown), default=0)
    rows = [(_TONES.get(one.tone, "dim"), f"+{elapsed(one.at):<{width}}  {_told(one, lanes)}") for one, lanes in shown]
    yield from page.labelled_lines("Then" if spans else "Timeline", rows)
    left = len(told) - len(shown)
    if left:
        yield from page.labelled_lines("", [("dim", f"… {left} more; the JSON report has them")])


def _told(moment: Moment, lanes: list[str]) -> str:
    if moment.tone is Tone.SIGN or lanes == [SERVER]:
        return moment.text
    return f"{', '.join(lanes[:_LANES])}{', …' if len(lanes) > _LANES else ''}: {moment.text}"
