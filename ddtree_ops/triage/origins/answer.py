"""The numbers of a failure with what the source says of them, and the cause, where one number's parameter doesn't get there.

Nothing is claimed unless one parameter does reach what sized the raising line's operands and another one doesn't: where all
of them do, or none, the source explains nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from ddtree_ops.triage.model import Event, Failure, Number
from ddtree_ops.triage.numbers import IN_NO_ARGUMENT
from ddtree_ops.triage.origins import PARAMETER_TRACE
from ddtree_ops.triage.origins.constants import constants
from ddtree_ops.triage.origins.sizing import Find, sinks
from ddtree_ops.triage.origins.traced import Traced, read_trace

_PARAMETERS = 4
_SINKS = 6
_OF_ONE_VALUE = 3
_STEPS = 16

#: `params trace NAME --to TARGET` as the object that its JSON is. Raises LookupError for a name that the tree doesn't have.
Ask = Callable[[str, str | None], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Answer:
    """The failure with what the source told, and events with each path's steps; the same failure where it told nothing."""

    failure: Failure
    events: tuple[Event, ...] = ()


def answer(failure: Failure, ask: Ask, find: Find, plugins: Sequence[tuple[str, bytes]] = ()) -> Answer:
    """Ask the source for the parameters behind the failure's numbers.

    `plugins`: (name, content) of files that aren't the engine's.
    """
    numbers = tuple(_with_constants(failure.numbers, plugins))
    parameters = tuple(dict.fromkeys(item.parameter for item in numbers if item.parameter))[:_PARAMETERS]
    if not parameters or not failure.exceptions:
        return Answer(failure)
    frames = next((item.frames for item in reversed(failure.exceptions) if item.parent is None), ())
    targets = [item.target for item in sinks(frames, find)][:_SINKS]
    traced = _traced(parameters, targets, ask)
    if not traced:
        return Answer(failure)
    shown = replace(failure, numbers=tuple(_told(numbers, traced)), cause=_cause(failure.cause, numbers, traced))
    return Answer(shown, tuple(event for item in traced.values() for event in _steps(item)))


def _with_constants(numbers: Sequence[Number], plugins: Sequence[tuple[str, bytes]]) -> Iterator[Number]:
    """A number that no argument gives is what a plugin's own code makes of a constant of it, if one does."""
    for number in numbers:
        known = number.parameter or not number.expression.startswith(IN_NO_ARGUMENT)
        found = [] if known else [one for file, content in plugins for one in constants(number.value, file, content)]
        for one in found[:_OF_ONE_VALUE]:
            expression = f"{one.expression} = {number.value}"
            yield Number(number.value, expression, f"{one.file}:{one.line}", f"{one.file}:{one.name}")
        if not found:
            yield number


def _traced(parameters: Sequence[str], targets: Sequence[str], ask: Ask) -> dict[str, Traced]:
    """What the source says of each parameter, all towards the nearest target that one of them reaches."""
    for target in targets:
        found = _all(parameters, target, ask)
        if any(item.reaches for item in found.values()):
            return found
    return _all(parameters, None, ask)


def _all(parameters: Sequence[str], target: str | None, ask: Ask) -> dict[str, Traced]:
    found = {}
    for name in parameters:
        try:
            found[name] = read_trace(name, target, ask(name, target))
        except LookupError:  # an argument of a plugin that the tree doesn't hold, or a target that it hasn't
            continue
    return found


def _told(numbers: Sequence[Number], traced: Mapping[str, Traced]) -> Iterator[Number]:
    """Each number, and below it what is known of its parameter; of several of one value the first one's origin is enough."""
    for value, group in groupby(numbers, key=_value):
        ranked = sorted(group, key=lambda item: not (item.parameter in traced and traced[item.parameter].reaches))
        seen: set[str] = set()
        for number in ranked:
            yield number
            if number.parameter in traced and number.parameter not in seen:
                seen.add(number.parameter)
                one = traced[number.parameter]
                lines = (*(one.origin() if len(seen) == 1 else ()), *one.reach())
                yield from (Number(value, text, source) for text, source in lines)


def _cause(cause: str | None, numbers: Sequence[Number], traced: Mapping[str, Traced]) -> str | None:
    """The cause, and which number's parameter gets to what sized the operands and which one's doesn't, if both are known."""
    best = [_best(list(group), traced) for _, group in groupby((item for item in numbers if item.parameter), key=_value)]
    known = [(number, traced[number.parameter]) for number in best if number]
    arrives = [(number, one) for number, one in known if one.reaches]
    away = [(number, one) for number, one in known if not one.reaches and one.complete]
    if cause is None or not arrives or not away:
        return cause
    number, one = arrives[0]
    there = f"{_is(number)}, which reaches {one.target}{one.through()}"
    missing = "; ".join(f"{_is(number)}, which does not reach it{one.as_far_as()}" for number, one in away[:2])
    return f"{cause} By the source {there}; {missing}."


def _value(number: Number) -> int:
    return number.value


def _is(number: Number) -> str:
    """`33 is BUDGET + 1`."""
    return f"{number.value} is {number.expression.removesuffix(f' = {number.value}')}"


def _best(numbers: Sequence[Number], traced: Mapping[str, Traced]) -> Number | None:
    """Of one value's, one that reaches, else any; None where one of its parameters isn't known to the source."""
    if any(number.parameter not in traced for number in numbers):
        return None
    return next((number for number in numbers if traced[number.parameter].reaches), numbers[0])


def _steps(item: Traced) -> Iterator[Event]:
    if item.target is None or not (item.reaches or item.complete):
        return
    steps = item.path if item.reaches else item.nearest
    verb = "reaches" if item.reaches else "does not reach"
    for index, step in enumerate(steps[:_STEPS], 1):
        where = f"{step.file}:{step.line} in {step.function}" if step.function else f"{step.file}:{step.line}"
        yield Event(None, PARAMETER_TRACE, f"{item.short} {verb} {item.target}, {index} of {len(steps)}: {where}: {step.code}")
