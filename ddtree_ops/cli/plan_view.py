"""A plan for people: what would change, grouped, then what speaks against it, the gravest first."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from textwrap import wrap

import click

from ddtree_ops.fleet.drift import Change, Group
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.plan import Plan
from ddtree_ops.report.safe_text import one_line

_SAID = {
    Group.PACKAGES: ("package",),
    Group.PATCHES: ("patch",),
    Group.ARGUMENTS: ("argument",),
    Group.ENVIRONMENT: ("environment",),
    Group.UNIT: ("unit",),
}
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
_PLAIN = (Group.RELEASE, Group.LOCK, Group.HOST)  # their changes need no heading
_MOST_PACKAGES = 12
_EVIDENCE = 8
_DIFF_WIDTH = 200
_LONG = 1200
_WIDEST = 140  # longer lines are hard to read


def verdict(plan: Plan) -> str:
    """What a deploy would do, in a few words."""
    if plan.errors:
        ids = dict.fromkeys(one.id for one in plan.errors)
        return click.style(f"would be refused: {', '.join(map(one_line, ids))}", fg="red")
    if plan.nothing_to_do:
        return click.style(f"nothing to do: serves {plan.release.id}", fg="green")
    staged = " (staged anew: it is damaged)" if plan.repair else " (already staged)" if plan.is_staged else ""
    return click.style(f"would deploy {plan.release.id}{staged}", fg="yellow")


def plan_lines(plan: Plan, *, verbose: bool = False) -> Iterator[str]:
    """Changes and findings; notes, and all the evidence, with `verbose` only."""
    yield from _changes(plan.changes, verbose=verbose)
    for finding in sorted(plan.findings, key=_gravity):
        if verbose or finding.severity is not Severity.NOTE:
            yield from _finding(finding, verbose=verbose)
    notes = sum(one.severity is Severity.NOTE for one in plan.findings)
    if notes and not verbose:
        yield click.style(f"  {notes} note{'s' * (notes != 1)}: --verbose shows {'them' if notes != 1 else 'it'}", dim=True)


def _changes(changes: Iterable[Change], *, verbose: bool) -> Iterator[str]:
    by_group: dict[Group, list[Change]] = {}
    for one in changes:
        by_group.setdefault(one.group, []).append(one)
    for group in Group:
        listed = sorted(by_group.get(group, []), key=_comes_or_goes)
        plain = group in _PLAIN
        if listed and not plain:
            yield f"  {group}"
        shown = listed if verbose or group is not Group.PACKAGES else listed[:_MOST_PACKAGES]
        for one in shown:
            yield f"{'  ' if plain else '    '}{_change(_name(one), one)}"
            yield from (f"      {_diff_line(line)}" for line in one.detail)
        if len(listed) > len(shown):
            yield click.style(f"    and {len(listed) - len(shown)} more: --verbose", dim=True)


def _comes_or_goes(change: Change) -> bool:
    """Among the packages of another lock the ones with other versions say more."""
    return change.group is Group.PACKAGES and (change.before is None or change.after is None)


def _name(change: Change) -> str:
    """Without the word that the group says already: `argument --tp-size` is `--tp-size` among the arguments."""
    word, _, rest = change.what.partition(" ")
    return rest if rest and word in _SAID.get(change.group, ()) else change.what


def _change(name: str, change: Change) -> str:
    name = one_line(name)
    if change.before is None:
        return click.style(f"+ {name} {one_line(change.after or '')}".rstrip(), fg="green")
    if change.after is None:
        return click.style(f"- {name} {one_line(change.before)}".rstrip(), fg="red")
    return f"~ {name}: {_value(change.before)} -> {_value(change.after)}"


def _value(text: str | None) -> str:
    return one_line(text) if text else "(set)"


def _diff_line(line: str) -> str:
    """Indentation means nothing in a unit file, so that a line is cleaned as any other."""
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    sign = line[:1] if colour else " "
    return _styled(sign + one_line(line[1:], _DIFF_WIDTH), fg=colour, dim=colour is None)


def _gravity(finding: Finding) -> tuple[bool, int]:
    return finding.waived is not None, list(Severity).index(finding.severity)


def _finding(finding: Finding, *, verbose: bool) -> Iterator[str]:
    dim = finding.waived is not None
    word = f"{finding.severity.value}{', waived' * dim}"
    first, *more = _wrapped(f"{one_line(finding.message, _LONG)} [{one_line(finding.id)}]", len(word) + 4) or [""]
    yield f"  {_styled(word, fg=None if dim else _COLOURS[finding.severity], bold=not dim, dim=dim)}: {_styled(first, dim=dim)}"
    yield from (_styled(f"    {line}", dim=dim) for line in more)
    if finding.waived is not None:
        yield _styled(f"    until {finding.waived.until}: {one_line(finding.waived.reason)}", dim=True)
        return
    for line in finding.evidence if verbose else finding.evidence[:_EVIDENCE]:
        yield from (_styled(f"    | {part}", dim=True) for part in _wrapped(one_line(line), 6, margin=6))
    yield from (f"    {line}" for line in _wrapped(f"fix: {one_line(finding.fix, _LONG)}", 4))


def _styled(text: str, *, fg: str | None = None, bold: bool = False, dim: bool = False) -> str:
    """click writes a code for False, too."""
    return click.style(text, fg=fg, bold=bold or None, dim=dim or None)


def _wrapped(text: str, first: int, *, margin: int = 4) -> list[str]:
    """Lines as wide as the terminal, with room for `first` columns before the first one; elsewhere one line, for grep."""
    columns = shutil.get_terminal_size((0, 24)).columns
    if not columns:
        return [text]
    indent = " " * max(0, first - margin)
    width = max(60, min(_WIDEST, columns)) - margin
    return [line.lstrip() for line in wrap(text, width, initial_indent=indent, break_long_words=False, break_on_hyphens=False)]
