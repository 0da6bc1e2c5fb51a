"""Parameters that have another name in another version, found by what tells so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.runtime.parameters.model import Parameter
from ddtree_ops.runtime.parameters.nearest import similarity

_SHORT_HELP = 20  # letters: "Deprecated." is the help of many
_MOST_PAIRS = 40_000


class Evidence(StrEnum):
    """How a rename shows, strongest first."""

    ALIAS = "the old flag is declared as a deprecated alias of the new one"
    FLAG = "the flag is the same"
    HELP = "the help text is the same"
    PLACE = "it stands between the same neighbours, under a similar name"


@dataclass(frozen=True, slots=True)
class Renamed:
    """One parameter under two names."""

    before: Parameter
    after: Parameter
    evidence: Evidence


def renamed(before: Sequence[Parameter], after: Sequence[Parameter]) -> tuple[Renamed, ...]:
    """Renames, each parameter in one at most; the strongest evidence decides."""
    by_name = {one.name: one for one in after}
    old_names = {one.name for one in before}
    found: list[Renamed] = []
    for one in before:
        alias = _alias(one, by_name)
        if alias is not None and alias.name not in old_names:
            found.append(Renamed(one, alias, Evidence.ALIAS))
    done = {one.before.name for one in found} | {one.after.name for one in found}
    gone = [one for one in before if one.name not in by_name and one.name not in done and not one.deprecated]
    come = [one for one in after if one.name not in old_names and one.name not in done and not one.deprecated]
    for evidence, pairs in ((Evidence.FLAG, _by_flag), (Evidence.HELP, _by_help)):
        for old, new in pairs(gone, come):
            if old in gone and new in come:
                found.append(Renamed(old, new, evidence))
                gone.remove(old)
                come.remove(new)
    for old, new in _by_place(gone, come, before, after):
        if old in gone and new in come:
            found.append(Renamed(old, new, Evidence.PLACE))
            gone.remove(old)
            come.remove(new)
    return tuple(found)


def _alias(one: Parameter, after: dict[str, Parameter]) -> Parameter | None:
    """What a flag that became deprecated writes now."""
    now = after.get(one.name)
    if one.deprecated or now is None or not now.deprecated or now.record in (None, now.name):
        return None
    return after.get(now.record or "")


def _by_flag(gone: list[Parameter], come: list[Parameter]) -> Iterator[tuple[Parameter, Parameter]]:
    owners = {flag: one for one in come for flag in one.flags}
    for one in list(gone):
        new = next((owners[flag] for flag in one.flags if flag in owners), None)
        if new is not None:
            yield one, new


def _by_help(gone: list[Parameter], come: list[Parameter]) -> Iterator[tuple[Parameter, Parameter]]:
    texts: dict[str, list[Parameter]] = {}
    for one in come:
        texts.setdefault(_plain(one.help, one), []).append(one)
    for one in list(gone):
        text = _plain(one.help, one)
        same = texts.get(text, [])
        if len(text) >= _SHORT_HELP and len(same) == 1 and bool(one.flags) == bool(same[0].flags):
            yield one, same[0]


def _plain(text: str | None, one: Parameter) -> str:
    """A help text without its own name in it."""
    words = re.sub(r"\s+", " ", (text or "")[:1_000]).strip().lower()
    for name in (one.name, one.name.replace("_", "-")):
        words = words.replace(name, "")
    return words


def _by_place(
    gone: list[Parameter], come: list[Parameter], before: Sequence[Parameter], after: Sequence[Parameter]
) -> Iterator[tuple[Parameter, Parameter]]:
    if len(gone) * len(come) > _MOST_PAIRS:
        return
    old_around, new_around = _neighbours(before), _neighbours(after)
    scored = []
    for old in gone:
        for new in come:
            beside = sum(a == b and a is not None for a, b in zip(old_around[old.name], new_around[new.name], strict=True))
            if beside and old.parse == new.parse and old.nargs == new.nargs and old.default == new.default:
                alike = similarity(old.name, new.name)
                if alike >= (0.75 if beside == 2 else 0.85):
                    scored.append((alike + beside, old, new))
    for _, old, new in sorted(scored, key=lambda one: -one[0]):
        yield old, new


def _neighbours(parameters: Sequence[Parameter]) -> dict[str, tuple[str | None, str | None]]:
    names: list[str | None] = [None, *(one.name for one in parameters), None]
    return {one.name: (names[place], names[place + 2]) for place, one in enumerate(parameters)}
