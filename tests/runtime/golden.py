"""Golden cases of `params trace`: what reading the sources by hand has shown, and how an answer is held against it.

`cases/reach/*.yaml`: does NAME reach OTHER in a tree; where a path has to pass (`through`, in this order), or ends (`nearest`).
`cases/about/*.yaml`: what must be among a parameter's definitions, validations, writes, reads and derived names; files that
mustn't be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CASES = Path(__file__).with_name("cases")
SECTIONS = ("definitions", "validations", "writes", "reads")
Step = Mapping[str, Any]


@dataclass(frozen=True)
class Expectation:
    """One tree's answer. A place is `file` or `file:function`; alternatives are parted by `|`."""

    tree: str
    reaches: bool
    through: tuple[str, ...]
    nearest: tuple[str, ...]
    blind_spot_will_do: bool
    """Whether "no" is right as well, if a blind spot in the file of the first place is listed."""


@dataclass(frozen=True)
class ReachCase:
    """One file of cases/reach, for one tree."""

    slug: str
    name: str
    to: str
    why: str
    expected: Expectation

    def __str__(self) -> str:
        return f"{self.expected.tree}-{self.slug}"


@dataclass(frozen=True)
class AboutCase:
    """One file of cases/about."""

    slug: str
    name: str
    places: Mapping[str, tuple[tuple[str, str], ...]]
    derived: tuple[str, ...]
    never: tuple[str, ...]

    def __str__(self) -> str:
        return self.slug


def reach_cases(trees: Iterable[str]) -> tuple[ReachCase, ...]:
    """All cases of these trees, sorted by file."""
    wanted = frozenset(trees)
    return tuple(
        ReachCase(path.stem, data["name"], data["to"], data["why"].strip(), _expectation(tree, expected))
        for path in sorted((CASES / "reach").glob("*.yaml"))
        for data in (_load(path),)
        for tree, expected in data["expect"].items()
        if tree in wanted
    )


def about_cases() -> tuple[AboutCase, ...]:
    """All cases of cases/about, sorted by file."""
    return tuple(
        AboutCase(
            path.stem,
            data["name"],
            {section: tuple((file, code) for file, code in data.get(section, ())) for section in SECTIONS},
            tuple(data.get("derived", ())),
            tuple(data.get("never", ())),
        )
        for path in sorted((CASES / "about").glob("*.yaml"))
        for data in (_load(path),)
    )


def judge_reach(case: ReachCase, answer: Mapping[str, Any]) -> list[str]:
    """What is wrong with an answer of `trace(NAME, OTHER)`; empty if nothing is."""
    expected, to = case.expected, answer["to"]
    if to["reaches"] != expected.reaches:
        if expected.blind_spot_will_do and _blind(expected.through[:1], answer["blind_spots"]):
            return []
        found = _route(to["path"]) if to["reaches"] else f"nearest: {_route(to.get('nearest', ()))}"
        return [f"{case.name} -> {case.to} in {expected.tree}: reaches is {to['reaches']}. {case.why} Found {found}"]
    if expected.reaches:
        return [*_missing(expected.through, to["path"]), *_broken(to["path"])]
    return _missed_ends(expected.nearest, to.get("nearest", ()))


def judge_about(case: AboutCase, answer: Mapping[str, Any]) -> list[str]:
    """What is wrong with an answer of `trace(NAME)`; empty if nothing is."""
    lacking = [
        f"{section}: no {code!r} in {file}"
        for section, places in case.places.items()
        for file, code in places
        if not any(_in_file(entry, file) and _squeeze(code) in _squeeze(entry["code"]) for entry in answer[section])
    ]
    names = {entry["name"].rpartition(".")[2] for entry in answer["derived"]}
    lacking += [f"derived: no {name}" for name in case.derived if name not in names]
    entries = [(section, entry) for section in ("definitions", "writes", "reads") for entry in answer[section]]
    return lacking + [
        f"{section}: {entry['file']}:{entry['line']} has nothing to do with it"
        for section, entry in entries
        for file in case.never
        if _in_file(entry, file)
    ]


def _load(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.load(path.read_text(), yaml.CSafeLoader)
    return data


def _expectation(tree: str, data: Mapping[str, Any]) -> Expectation:
    return Expectation(
        tree,
        data["reaches"],
        tuple(data.get("through", ())),
        tuple(data.get("nearest", ())),
        data.get("blind_spot_will_do", False),
    )


def _missing(through: Sequence[str], path: Sequence[Step]) -> list[str]:
    """Places that the path doesn't pass, in this order."""
    at = 0
    for place in through:
        here = next((number for number in range(at, len(path)) if _is_at(path[number], place)), None)
        if here is None:
            return [f"the path doesn't pass {place} after step {at}: {_route(path)}"]
        at = here
    return []


def _broken(path: Sequence[Step]) -> list[str]:
    if len(path) < 2:
        return [f"a path of {len(path)} steps explains nothing"]
    return [f"a step without code: {step}" for step in path if not step["code"].strip() or step["line"] < 1]


def _missed_ends(nearest: Sequence[str], found: Sequence[Step]) -> list[str]:
    missed = nearest and not any(_is_at(step, place) for step in found for place in nearest)
    return [f"none of {', '.join(nearest)} among the nearest points: {_route(found)}"] if missed else []


def _blind(places: Sequence[str], spots: Sequence[Step]) -> bool:
    return any(_in_file(spot, place.partition(":")[0]) for spot in spots for place in places)


def _is_at(step: Step, place: str) -> bool:
    return any(_matches(step, *alternative.strip().partition(":")[::2]) for alternative in place.split("|"))


def _matches(step: Step, file: str, function: str) -> bool:
    """`file` may be cut at the front; the answer's function may lack its class."""
    if not _in_file(step, file):
        return False
    named = step.get("function") or ""
    return not function or named == function or named.endswith(f".{function}") or named == function.rpartition(".")[2]


def _in_file(entry: Step, file: str) -> bool:
    """The answer's files are relative to the tree, which may begin inside the package."""
    return bool(file) and (
        f"/{entry['file']}".endswith(f"/{file}") or f"/{file}".endswith(f"/{entry['file']}") or file in entry["file"]
    )


def _squeeze(code: str) -> str:
    return "".join(code.split())


def _route(steps: Sequence[Step]) -> str:
    return (
        " > ".join(f"{step['file'].rpartition('/')[2]}:{step['line']} {step.get('function') or ''}" for step in steps)
        or "nothing"
    )
