"""One parameter from what a spec asks for to what the server runs with, and what wrote it on the way."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddtree_ops.errors import UsageError
from ddtree_ops.runtime.parameters.command_line import settings
from ddtree_ops.runtime.parameters.model import Parameter
from ddtree_ops.runtime.parameters.nearest import nearest

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Known:
    """A value as text, and where it comes from: "the spec's server_args", "default", "/server_info", a file and line."""

    value: str
    origin: str


@dataclass(frozen=True, slots=True)
class Write:
    """A line that writes the parameter after the command line was read."""

    file: str
    line: int
    function: str
    code: str


@dataclass(frozen=True, slots=True)
class Explained:
    """What is known of one parameter. None: not asked for, not known (no server answers), no default.

    `changed`: the server runs with something else than was asked for, or than the default where nothing was; None where one
    of the two isn't known. Then `writes` holds who may have done it, in the source's order.
    """

    name: str
    parameter: Parameter
    requested: Known | None
    default: Known | None
    resolved: Known | None
    changed: bool | None
    writes: tuple[Write, ...]


def find(name: str, declared: Sequence[Parameter]) -> Parameter:
    """A parameter by its name, its flag or an alias. Raises UsageError with near names."""
    wanted = name.strip()
    plain = wanted.lstrip("-").replace("-", "_")
    for one in declared:
        if wanted in one.flags or f"--{wanted.lstrip('-')}" in one.flags:
            return one
    for one in declared:
        if plain in (one.name, one.record):
            return one
    known = [one.name for one in declared]
    near = nearest(plain, known)
    shown = wanted if wanted.isprintable() and len(wanted) < 100 else repr(wanted[:100])
    hint = f"did you mean {' or '.join(near)}?" if near else "`params list` shows all"
    raise UsageError(f"this runtime has no server argument {shown}", hint=hint)


def explain(
    parameter: Parameter,
    argv: Sequence[str],
    declared: Sequence[Parameter],
    *,
    resolved: Mapping[str, object] | None = None,
    writes: Sequence[Write] = (),
    origins: Mapping[str, str] | None = None,
    resolved_from: str = "/server_info",
) -> Explained:
    """Assemble what is known.

    `argv` is the spec's command line, `resolved` what the running server says of itself by field (None: it says nothing),
    `writes` the lines that trace found, `origins` where the spec has each argument from, by the flag's name without dashes.
    """
    field = parameter.record or parameter.name
    requested = _requested(field, argv, declared, origins or {})
    default = None
    if parameter.value is not None or parameter.default is not None:
        default = Known(parameter.value or parameter.default or "", f"{parameter.file}:{parameter.line}")
    value = _MISSING if resolved is None else resolved.get(field, _MISSING)
    now = None if value is _MISSING else Known(_text(value), resolved_from)
    return Explained(field, parameter, requested, default, now, _changed(parameter, requested, value), tuple(writes))


def _requested(field: str, argv: Sequence[str], declared: Sequence[Parameter], origins: Mapping[str, str]) -> Known | None:
    last = next((one for one in reversed(settings(argv, declared)) if one.name == field), None)
    if last is None or last.parameter is None:
        return None
    words = last.words if last.parameter.nargs != "0" else ("False" if last.written.startswith("--no-") else "True",)
    return Known(" ".join(words), origins.get((last.flag or last.written).lstrip("-"), last.flag or last.written))


def _text(value: object) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _changed(parameter: Parameter, requested: Known | None, resolved: object) -> bool | None:
    if resolved is _MISSING:
        return None
    if requested is not None:
        words = requested.value.split() if parameter.nargs in ("+", "*") else [requested.value]
        given = resolved if isinstance(resolved, list | tuple) else [resolved]
        return len(words) != len(given) or not all(_equal(word, one) for word, one in zip(words, given, strict=True))
    if parameter.value is None:
        return None
    try:
        default: object = ast.literal_eval(parameter.value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    default = list(default) if isinstance(default, tuple) else default
    return default != resolved


def _equal(word: str, value: object) -> bool:
    """Whether a word of the command line and a JSON value mean the same: 0.80 and 0.8 do."""
    if word == _text(value):
        return True
    try:
        return bool(json.loads(word) == (json.loads(value) if isinstance(value, str) else value))
    except (ValueError, RecursionError):
        return word.lower() == _text(value).lower()
