"""What an upgrade does to the arguments and the environment of a spec."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.runtime.parameters.command_line import Setting, settings
from ddtree_ops.runtime.parameters.differences import Differences, What
from ddtree_ops.runtime.parameters.model import Parameter
from ddtree_ops.runtime.parameters.problem import Problem, ProblemKind
from ddtree_ops.runtime.parameters.problems import problems


class EffectKind(StrEnum):
    """What happens to a setting."""

    GONE = "gone"
    RENAMED = "renamed"
    REFUSED = "refused"
    DEPRECATED = "deprecated"
    DEFAULT_CHANGED = "default_changed"
    MEANING_CHANGED = "meaning_changed"
    ENVIRONMENT_GONE = "environment_gone"
    ENVIRONMENT_DEPRECATED = "environment_deprecated"


@dataclass(frozen=True, slots=True)
class Effect:
    """`breaks`: the server would refuse to start. `file` and `line` are in the later tree where it declares the thing at all."""

    kind: EffectKind
    name: str
    message: str
    fix: str
    breaks: bool
    file: str | None = None
    line: int | None = None


_KINDS = {
    ProblemKind.DEPRECATED_ARGUMENT: EffectKind.DEPRECATED,
    ProblemKind.DEPRECATED_ENVIRONMENT: EffectKind.ENVIRONMENT_DEPRECATED,
    ProblemKind.UNKNOWN_ENVIRONMENT: EffectKind.ENVIRONMENT_GONE,
    ProblemKind.UNKNOWN_ARGUMENT: EffectKind.GONE,
}


def for_spec(differences: Differences, argv: Sequence[str], environment: Mapping[str, str]) -> tuple[Effect, ...]:
    """Effects on what is set, in the order of the command line, then on what is left to a default that changed.

    What is wrong already with the earlier tree is no effect of the upgrade and isn't told again.
    """
    known = {_key(one) for one in problems(argv, environment, differences.before, differences.environment_before)}
    later = problems(argv, environment, differences.after, differences.environment_after)
    effects = [_of_problem(one, differences, argv) for one in later if _key(one) not in known]
    return (*effects, *_meanings(differences, argv), *_defaults(differences, argv, environment))


def _key(one: Problem) -> tuple[ProblemKind, str]:
    return one.kind, one.name.lstrip("-").replace("-", "_")


def _of_problem(one: Problem, differences: Differences, argv: Sequence[str]) -> Effect:
    kind = _KINDS.get(one.kind, EffectKind.REFUSED)
    message, fix, place = one.message, one.fix, (one.file, one.line)
    former = _former(one.name, differences, argv) if kind is EffectKind.GONE else None
    if former is not None:
        pair = next((pair for pair in differences.renamed if pair.before.name == former.name), None)
        if pair is not None:
            kind, new = EffectKind.RENAMED, pair.after
            message = f"{one.name} is called {_flag(new)} now: {pair.evidence}"
            fix, place = f"write {_flag(new)}", (new.flag_file or new.file, new.flag_line or new.line)
        else:
            message = f"{one.name} is gone" + (f" (it was deprecated: use {former.successor})" if former.successor else "")
            fix = f"use {former.successor}" if former.successor else fix
    elif one.kind is ProblemKind.AMBIGUOUS_ARGUMENT and _former(one.name, differences, argv) is not None:
        kind = EffectKind.GONE
        fix = f"write one of {message.partition('it could be ')[2]}, or each"
        message = f"{one.name} is gone, and as an abbreviation it is ambiguous"
    elif one.kind is ProblemKind.UNKNOWN_ENVIRONMENT:
        message = f"{one.name} is read no more"
    return Effect(kind, one.name, message, fix, one.certain, *place)


def _former(flag: str, differences: Differences, argv: Sequence[str]) -> Parameter | None:
    """The parameter that a flag of the command line meant in the earlier tree."""
    return next((one.parameter for one in settings(argv, differences.before) if one.written == flag), None)


def _flag(one: Parameter) -> str:
    return one.flags[0] if one.flags else one.name


def _meanings(differences: Differences, argv: Sequence[str]) -> Iterator[Effect]:
    """A flag that is written as before and sets something else: an abbreviation, or a name that changed hands."""
    later = {one.written: one for one in settings(argv, differences.after)}
    renames = {pair.before.name: pair.after.name for pair in differences.renamed}
    for one in settings(argv, differences.before):
        now = later.get(one.written)
        if one.name is None or now is None or now.name is None:
            continue
        if one.name in renames and now.flag != one.written and now.name == renames[one.name]:
            message = f"{one.written} is called {now.flag} now, and works as an abbreviation only"
            yield _effect(EffectKind.RENAMED, now, message, f"write {now.flag}")
        elif now.name != renames.get(one.name, one.name) and not (now.parameter and now.parameter.deprecated):
            message = f"{one.written} set {one.name} and sets {now.name} now"
            yield _effect(EffectKind.MEANING_CHANGED, now, message, f"write {one.flag or one.written} in full, or its successor")


def _effect(kind: EffectKind, setting: Setting, message: str, fix: str) -> Effect:
    parameter = setting.parameter
    place = (parameter.file, parameter.line) if parameter else (None, None)
    return Effect(kind, setting.written, message, fix, False, *place)


def _is_literal(text: str | None) -> bool:
    try:
        ast.literal_eval(text or "None")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _defaults(differences: Differences, argv: Sequence[str], environment: Mapping[str, str]) -> Iterator[Effect]:
    given = {one.name for tree in (differences.before, differences.after) for one in settings(argv, tree)}
    for one in differences.changed:
        parameter = one.parameter
        if one.what is not What.DEFAULT or parameter.deprecated or {parameter.name, one.former.name} & given:
            continue
        if not (_is_literal(one.before) and _is_literal(one.after)):
            continue  # a default that only running would tell: `changed` shows both texts
        message = f"{_flag(parameter)} isn't set, and its default changes from {one.before} to {one.after}"
        fix = f"set it to {one.before} to keep what was" if one.before else "see whether the new default suits"
        yield Effect(EffectKind.DEFAULT_CHANGED, parameter.name, message, fix, False, parameter.file, parameter.line)
    for change in differences.environment_changed:
        variable = change.variable
        known = _is_literal(change.before) and _is_literal(change.after)
        if change.what is What.DEFAULT and variable.name not in environment and known:
            message = f"{variable.name} isn't set, and its default changes from {change.before} to {change.after}"
            fix = f"set it to {change.before} to keep what was"
            yield Effect(EffectKind.DEFAULT_CHANGED, variable.name, message, fix, False, variable.file, variable.line)
