"""A failure report as one HTML page: no script, nothing from outside, readable on a phone, in the dark and on paper.

Jinja2 escapes every value; no value of the log becomes an address, a style or an attribute that does something, and the
page's own Content-Security-Policy allows nothing but its style sheet (by hash).
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from itertools import groupby
from typing import NamedTuple, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ddtree_ops.report import failure_parts, wording
from ddtree_ops.report.root_line import log_lines, root_line
from ddtree_ops.report.safe_text import rfc3339
from ddtree_ops.report.scale import Scale
from ddtree_ops.report.timeline import Timeline, joined, merged_draft
from ddtree_ops.triage.block import Frame, ParsedException
from ddtree_ops.triage.model import Event, Failure, Role, Verdict

_SHOWN_FRAMES = 8  # of an exception's own, the innermost; the others are folded
_MESSAGE_LINES, _MESSAGE = 24, 3000  # shown; up to _FOLDED more is folded
_FOLDED = 60_000
_EVENTS = 400
_OTHERS = 40


class Report(Protocol):
    """What the page needs of a clean report."""

    @property
    def host(self) -> str | None: ...
    @property
    def unit(self) -> str | None: ...
    @property
    def invocation(self) -> str | None: ...
    @property
    def since_us(self) -> int | None: ...
    @property
    def until_us(self) -> int | None: ...
    @property
    def lines_read(self) -> int: ...
    @property
    def verdict(self) -> Verdict: ...
    @property
    def failures(self) -> tuple[Failure, ...]: ...
    @property
    def events(self) -> tuple[Event, ...]: ...
    def timeline(self) -> Timeline | None: ...


def report_html(report: Report, release: str | None) -> str:
    """The page. The texts are clean already (`cleaning`)."""
    story = report.timeline()
    phases = merged_draft(story.phases) if story else []
    others = [item for item in report.failures if item.role is not Role.ROOT]
    style = _style()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            release=release,
            verdict=wording.verdict_line(report.verdict, report.host, report.unit, report.lines_read),
            notes=wording.notes(report.events),
            roots=[item for item in report.failures if item.role is Role.ROOT],
            others=others[:_OTHERS],
            others_left=max(0, len(others) - _OTHERS),
            events=report.events[:_EVENTS],
            events_left=max(0, len(report.events) - _EVENTS),
            story=story,
            phases=phases,
            told=joined(story.moments) if story else [],
            x=Scale(story, phases) if story else None,
            style=Markup(style),  # noqa: S704  # our own file
            style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        )
    )


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("ddtree_ops.report", "html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        RELATIONS=wording.RELATIONS,
        cause=wording.cause,
        fixes=wording.fixes,
        place=wording.place,
        elapsed=wording.elapsed,
        thread_name=wording.thread_name,
        short_file=wording.short_file,
        rfc3339=rfc3339,
        by_value=failure_parts.by_value,
        depth=failure_parts.depth,
        stacks=failure_parts.stacks,
        log_lines=log_lines,
        root_line=root_line,
        folds=_folds,
        message=_message,
        packages=_packages,
        offset=_offset,
    )
    return made


@cache
def _style() -> str:
    return resources.files("ddtree_ops.report").joinpath("html", "style.css").read_text("utf-8")


class _Fold(NamedTuple):
    """Frames that are shown, or folded together. `library`: none of them is the application's."""

    shown: bool
    library: bool
    frames: tuple[Frame, ...]


def _folds(frames: tuple[Frame, ...]) -> list[_Fold]:
    """The frames in order: the application's innermost ones are shown, libraries and what is further out are folded.

    Without frames of the application the innermost run of the others is shown.
    """
    own = [index for index, frame in enumerate(frames) if frame.in_app][-_SHOWN_FRAMES:]
    shown = set(own or range(max(0, len(frames) - _SHOWN_FRAMES), len(frames)))
    folds: list[_Fold] = []
    for is_shown, part in groupby(range(len(frames)), key=shown.__contains__):
        members = tuple(frames[index] for index in part)
        folds.append(_Fold(is_shown, not any(frame.in_app for frame in members), members))
    return folds


def _packages(frames: tuple[Frame, ...]) -> str:
    """The libraries of some frames, by their first folder: `torch, uvicorn`."""
    names = dict.fromkeys(wording.short_file(frame).lstrip("/").partition("/")[0] for frame in frames)
    return ", ".join(list(names)[:4]) + (", …" if len(names) > 4 else "")


def _message(exception: ParsedException) -> tuple[str, str, int]:
    """(what is shown, what is folded, characters left out) of a message."""
    text = exception.message
    lines = text[:_MESSAGE].split("\n")[:_MESSAGE_LINES]
    shown = "\n".join(lines)
    rest = text[len(shown) :]
    return shown, rest[:_FOLDED].strip("\n"), max(0, len(rest) - _FOLDED)


def _offset(story: Timeline | None, time_us: int | None) -> str:
    """Seconds since the run's beginning, to the millisecond; empty where either isn't known or it lies outside."""
    if story is None or time_us is None:
        return ""
    seconds = (time_us - story.start_us) / 1e6
    return f"+{seconds:.3f} s" if 0 <= seconds <= story.length + 1 else ""
