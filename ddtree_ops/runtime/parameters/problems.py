"""What a runtime would not take of a command line and an environment, or take otherwise than it reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from ddtree_ops.runtime.parameters.command_line import Flags, Setting, settings
from ddtree_ops.runtime.parameters.environment_problems import environment_problems
from ddtree_ops.runtime.parameters.model import EnvironmentVariable, Parameter
from ddtree_ops.runtime.parameters.nearest import nearest
from ddtree_ops.runtime.parameters.problem import Problem, ProblemKind

_MARK = re.compile(r"^[\[(]?deprecated[\])]?[.:,]?\s*", re.I)
_MOST_SHOWN = 12  # choices in a message
_PARSERS: Mapping[str, tuple[Callable[[str], object], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "json.loads": (json.loads, "JSON"),
}
# Its parsers take "None" and "" for what may be left out, 10k for 10,000 and lists in several goes (vllm/engine/arg_utils.py).
_OTHER_OWNER = "vllm"
_SIZE = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?[kKmMgGtT]?")


def problems(
    argv: Sequence[str],
    environment: Mapping[str, str],
    declared: Sequence[Parameter],
    env: Sequence[EnvironmentVariable],
) -> tuple[Problem, ...]:
    """Problems of arguments in their order, then of variables by name. Without declared parameters nothing is judged."""
    found = list(_arguments(argv, declared)) if declared else []
    return (*found, *(environment_problems(environment, env) if env else ()))


def _arguments(argv: Sequence[str], declared: Sequence[Parameter]) -> Iterator[Problem]:
    given = settings(argv, declared)
    positional = any(not one.flags[0].startswith("-") for one in declared if one.flags)
    flags = Flags.of(declared)
    first: dict[str, Setting] = {}
    for one in given:
        if one.parameter is None:
            if one.written.startswith("-") or not positional:
                yield _unknown(one, flags)
            continue
        if one.extra and not positional:
            yield _extra(one)
        yield from _of_setting(one, one.parameter)
        again = first.setdefault(one.name or one.written, one)
        if again is not one and not _repeats(one.parameter):
            yield _repeated(again, one, one.parameter)
    for parameter in declared:
        if (
            parameter.required
            and parameter.flags[0].startswith("-")
            and parameter.record not in first
            and parameter.name not in first
        ):
            yield _missing(parameter)


def _repeats(parameter: Parameter) -> bool:
    """Whether a second one adds to the first, or says the same as it, as a switch does."""
    if parameter.repeats or (parameter.owner == _OTHER_OWNER and parameter.nargs == "+"):
        return True
    return parameter.nargs == "0" and not any(flag.startswith("--no-") for flag in parameter.flags)


def _of_setting(one: Setting, parameter: Parameter) -> Iterator[Problem]:
    if parameter.deprecated is not None:
        yield _deprecated(one, parameter)
    if parameter.takes_value and not one.words and parameter.nargs in (None, "+"):
        message = f"{one.written} has no value after it"
        yield Problem(
            ProblemKind.MISSING_VALUE, parameter.name, message, f"give it one, or leave {one.written} out", *_place(parameter)
        )
    if parameter.nargs == "0" and one.words:
        message = f"{one.written} takes no value, but {one.words[0]!r} is given"
        yield Problem(ProblemKind.UNEXPECTED_VALUE, parameter.name, message, f"write {one.flag} alone", *_place(parameter))
        return
    for word in one.words:
        problem = wrong_value(one.flag or one.written, word, parameter)
        if problem is not None:
            yield problem


def wrong_value(flag: str, word: str, parameter: Parameter) -> Problem | None:
    """Whether argparse would refuse a word: of the wrong type, or none of the choices."""
    if parameter.owner == _OTHER_OWNER and (word in ("", "None", "auto") or _SIZE.fullmatch(word)):
        return None
    known = _PARSERS.get(parameter.parse or "")
    shown = word if len(word) <= 80 else f"{word[:77]}..."
    if known is not None and not _reads(known[0], word):
        message = f"{flag} must be {known[1]}, not {shown!r}"
        return Problem(ProblemKind.WRONG_TYPE, parameter.name, message, f"give {flag} {known[1]}", *_place(parameter))
    if parameter.choices is None or parameter.choices_open or word in parameter.choices:
        return None
    if known is not None and any(_same(known[0], word, one) for one in parameter.choices):
        return None
    near = nearest(word, parameter.choices)
    all_shown = ", ".join(parameter.choices[:_MOST_SHOWN])
    more = f" and {len(parameter.choices) - _MOST_SHOWN} more" if len(parameter.choices) > _MOST_SHOWN else ""
    fix = f"did you mean {' or '.join(near)}?" if near else f"take one of {all_shown}{more}"
    message = f"{flag} {shown} is none of its choices: {all_shown}{more}"
    return Problem(ProblemKind.NOT_A_CHOICE, parameter.name, message, fix, *_place(parameter))


def _reads(parse: Callable[[str], object], word: str) -> bool:
    try:
        parse(word)
    except (ValueError, RecursionError):
        return False
    return True


def _same(parse: Callable[[str], object], word: str, choice: str) -> bool:
    return _reads(parse, choice) and parse(word) == parse(choice)


def _unknown(one: Setting, flags: Flags) -> Problem:
    if len(one.candidates) > 1:
        meant = " or ".join(one.candidates[:6])
        message = f"{one.written} is ambiguous: it could be {meant}"
        return Problem(ProblemKind.AMBIGUOUS_ARGUMENT, one.written, message, "write the flag in full")
    if not one.written.startswith("-"):
        fix = "quote it with the flag before it if it belongs there, else leave it out"
        return Problem(ProblemKind.UNKNOWN_ARGUMENT, one.written, f"{one.written!r} belongs to no argument", fix)
    near = nearest(one.written.replace("_", "-"), flags.by_flag)
    fix = f"did you mean {' or '.join(near)}?" if near else "leave it out, or deploy a release that has it"
    place = _place(flags.by_flag[near[0]]) if near else (None, None)
    return Problem(ProblemKind.UNKNOWN_ARGUMENT, one.written, f"this runtime has no argument {one.written}", fix, *place)


def _extra(one: Setting) -> Problem:
    message = f"{one.extra[0]!r} after {one.written} belongs to no argument"
    takes = "no value" if one.parameter is not None and one.parameter.nargs == "0" else "one value, in one word"
    return Problem(ProblemKind.UNKNOWN_ARGUMENT, one.extra[0], message, f"{one.written} takes {takes}: leave the rest out")


def _deprecated(one: Setting, parameter: Parameter) -> Problem:
    fix = f"use {parameter.successor}" if parameter.successor else "leave it out"
    said = _MARK.sub("", " ".join((parameter.deprecated or "").split()))[:200]
    message = f"{one.written} is deprecated" + (f": {said}" if said else "")
    return Problem(ProblemKind.DEPRECATED_ARGUMENT, parameter.name, message, fix, *_place(parameter), certain=False)


def _repeated(first: Setting, again: Setting, parameter: Parameter) -> Problem:
    both = (
        f"{first.written} and {again.written} set the same"
        if first.written != again.written
        else f"{again.written} is given twice"
    )
    value = " ".join(again.words) or again.written
    fix = f"keep one of them (now the last counts: {value[:80]})"
    return Problem(ProblemKind.REPEATED_ARGUMENT, parameter.name, both, fix, *_place(parameter), certain=False)


def _missing(parameter: Parameter) -> Problem:
    message = f"{parameter.flags[0]} is required and isn't given"
    return Problem(ProblemKind.MISSING_ARGUMENT, parameter.name, message, f"give {parameter.flags[0]}", *_place(parameter))


def _place(parameter: Parameter) -> tuple[str | None, int | None]:
    return (parameter.flag_file or parameter.file, parameter.flag_line or parameter.line)
