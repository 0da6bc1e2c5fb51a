"""A trace for people: where the parameter is defined, set, checked and read; or its way to another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import click

from ddtree_ops.cli.code_window import CodeWindows
from ddtree_ops.cli.places import Places
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.runtime.source.index import Index
    from ddtree_ops.runtime.trace import Reach, Step, Trace

_FEW = 8


class _Place(Protocol):
    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def code(self) -> str: ...


def trace_lines(trace: Trace, index: Index, *, everything: bool = False) -> Iterator[str]:
    """With a target, its answer comes last: that is where a terminal stands when the command has ended."""
    view = _View(index, None if everything else _FEW)
    version = f"  {one_line(trace.version)}" if trace.version else ""
    yield f"{click.style(one_line(trace.name), bold=True)}{version}  {click.style(one_line(trace.root), dim=True)}"
    yield from view.defined(trace)
    if trace.to is None or everything:
        yield from view.about(trace)
    else:
        yield _counted(trace)
    if trace.to is None or not trace.to.reaches:
        yield from view.blind(trace)
    if trace.to is not None:
        yield from view.answer(trace, trace.to)


def _counted(trace: Trace) -> str:
    parts = ((trace.writes, "set it"), (trace.validations, "check it"), (trace.reads, "read it"))
    lines = ", ".join(f"{len(found)} {words}" for found, words in parts)
    return click.style(f"lines: {lines}; {len(trace.derived)} names are made from it (--all)", dim=True)


class _View:
    """`most`: places shown of each kind, or None for all."""

    def __init__(self, index: Index, most: int | None) -> None:
        self._windows = CodeWindows(index)
        self._places = Places(index.tree)
        self._most = most

    def defined(self, trace: Trace) -> Iterator[str]:
        """Where it is declared, with the lines around."""
        yield click.style("defined", bold=True)
        for place in trace.definitions[: self._most]:
            yield f"  {self._at(place)}  {one_line(place.kind)}"
            yield from self._windows.around(place.file, place.line, indent=4)
        yield from self._more(trace.definitions)

    def about(self, trace: Trace) -> Iterator[str]:
        """Set, checked, read, derived."""
        yield from self._section("set", trace.writes)
        yield from self._checked(trace)
        yield from self._section("read", trace.reads)
        yield from self._derived(trace)

    def answer(self, trace: Trace, reach: Reach) -> Iterator[str]:
        """The way, or how near it comes; the verdict is the last line."""
        target = click.style(one_line(reach.name), bold=True)
        if reach.reaches:
            yield click.style("its way", bold=True)
            yield from self._way(reach.path)
            yield f"{click.style('reaches', fg='green', bold=True)} {target} in {len(reach.path)} steps"
            return
        if reach.nearest:
            yield click.style("nearest points", bold=True)
            yield from self._way(reach.nearest)
        if not reach.complete:
            unseen = click.style("not seen to reach", fg="yellow", bold=True)
            yield f"{unseen} {target}: there was too much to follow, so this is no clear no"
            return
        blind = f"; {len(trace.blind_spots)} places beside its ways can't be seen through" if trace.blind_spots else ""
        yield f"{click.style('does not reach', fg='red', bold=True)} {target}: every way of the value was followed{blind}"

    def blind(self, trace: Trace) -> Iterator[str]:
        """Where the analysis can't see."""
        if trace.blind_spots:
            yield _title("can't be seen through", len(trace.blind_spots))
            for spot in trace.blind_spots[: self._most]:
                yield f"  {self._at(spot)}  {one_line(spot.why)}" + (f": {one_line(spot.code, 160)}" if spot.code else "")
            yield from self._more(trace.blind_spots)

    def _way(self, steps: Sequence[Step]) -> Iterator[str]:
        for number, step in enumerate(steps, 1):
            function = f"  {one_line(step.function)}" if step.function else ""
            yield f"  {number:>2}  {self._at(step)}{function}"
            yield from self._windows.around(step.file, step.line, indent=6)

    def _section(self, title: str, places: Sequence[_Place]) -> Iterator[str]:
        if places:
            yield _title(title, len(places))
            yield from (f"  {self._at(place)}  {one_line(place.code, 200)}" for place in places[: self._most])
            yield from self._more(places)

    def _checked(self, trace: Trace) -> Iterator[str]:
        if trace.validations:
            yield _title("checked", len(trace.validations))
            for check in trace.validations[: self._most]:
                yield f"  {self._at(check)}  {one_line(check.function)}"
                if check.kind != "clamp":
                    yield f"      if {one_line(check.condition, 160)}"
                yield f"      {click.style(one_line(check.kind), fg='yellow')}: {one_line(check.outcome, 200)}"
            yield from self._more(trace.validations)

    def _derived(self, trace: Trace) -> Iterator[str]:
        if trace.derived:
            yield _title("made from it", len(trace.derived))
            for name in trace.derived[: self._most]:
                own = click.style(one_line(name.name), bold=True)
                yield f"  {self._at(name)}  {own}  {one_line(name.code, 160)}"
            yield from self._more(trace.derived)

    def _more(self, places: Sequence[object]) -> Iterator[str]:
        if self._most is not None and len(places) > self._most:
            yield click.style(f"  and {len(places) - self._most} more: --all", dim=True)

    def _at(self, place: _Place) -> str:
        return self._places.at(place.file, place.line) if place.file else "the search"


def _title(words: str, count: int) -> str:
    return click.style(words, bold=True) + f"  ({count})"
