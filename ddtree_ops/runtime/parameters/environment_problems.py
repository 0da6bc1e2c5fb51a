"""Environment variables that a runtime doesn't read, or not as they are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from ddtree_ops.runtime.parameters.environment import PREFIXES
from ddtree_ops.runtime.parameters.model import EnvironmentVariable
from ddtree_ops.runtime.parameters.nearest import nearest
from ddtree_ops.runtime.parameters.problem import Problem, ProblemKind

# SGLang's declarations warn about such a value and go on with the default (srt/environ.py).
_BOOLEANS = frozenset({"true", "1", "yes", "y", "false", "0", "no", "n"})
FEWEST = 20
"""Variables of a package whose source counts as whole: a few of its files don't tell what the others read."""
_OLD_PREFIX, _NEW_PREFIX = "SGL_", "SGLANG_"


def environment_problems(environment: Mapping[str, str], known: Sequence[EnvironmentVariable]) -> Iterator[Problem]:
    """Problems by name. Only variables that begin as the runtime's own do are judged: others may be anybody's."""
    by_name = {one.name: one for one in known}
    read = Counter(one.owner for one in known)
    whole = {package for package, count in read.items() if count >= FEWEST}
    for name, value in sorted(environment.items()):
        one = by_name.get(name)
        if one is not None and one.deprecated is not None:
            yield _deprecated(name, one)
        if one is not None:
            yield from _wrong_value(name, value, one)
        elif any(name.startswith(prefix) and package in whole for prefix, package in PREFIXES.items()):
            yield _unknown(name, by_name)


def _deprecated(name: str, one: EnvironmentVariable) -> Problem:
    fix = f"use {one.successor}" if one.successor else "leave it out"
    said = " ".join((one.deprecated or "").split())[:200]
    return Problem(
        ProblemKind.DEPRECATED_ENVIRONMENT,
        name,
        f"{name} is deprecated: {said}",
        fix,
        one.file,
        one.line,
        certain=False,
    )


def _unknown(name: str, known: Mapping[str, EnvironmentVariable]) -> Problem:
    renamed = name.replace(_OLD_PREFIX, _NEW_PREFIX, 1) if name.startswith(_OLD_PREFIX) else ""
    if renamed in known:
        one = known[renamed]
        message = f"{name} is deprecated: the runtime takes it for {renamed}"
        return Problem(
            ProblemKind.DEPRECATED_ENVIRONMENT,
            name,
            message,
            f"use {renamed}",
            one.file,
            one.line,
            certain=False,
        )
    near = nearest(name, (one.name for one in known.values() if one.declared), cutoff=0.8)
    fix = f"did you mean {' or '.join(near)}?" if near else "leave it out, or deploy a release that reads it"
    one_near = known.get(near[0]) if near else None
    place = (one_near.file, one_near.line) if one_near else (None, None)
    message = f"nothing in this runtime reads {name}"
    return Problem(ProblemKind.UNKNOWN_ENVIRONMENT, name, message, fix, place[0], place[1], certain=False)


def _wrong_value(name: str, value: str, one: EnvironmentVariable) -> Iterator[Problem]:
    kind = re.match(r"Env(Bool|Int|Float)", one.type or "")
    checks: Mapping[str, tuple[Callable[[str], bool], str]] = {
        "Bool": (lambda word: word.lower() in _BOOLEANS, "true or false"),
        "Int": (lambda word: _reads(int, word), "a whole number"),
        "Float": (lambda word: _reads(float, word), "a number"),
    }
    if kind is None or checks[kind[1]][0](value):
        return
    expected = checks[kind[1]][1]
    message = f"{name}={value[:40]} isn't {expected}: the default {one.default} would be used"
    yield Problem(ProblemKind.WRONG_ENVIRONMENT_VALUE, name, message, f"give {expected}", one.file, one.line, certain=False)


def _reads(parse: Callable[[str], object], word: str) -> bool:
    try:
        parse(word)
    except ValueError:
        return False
    return True
