"""What differs between the parameters of two trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.runtime.parameters.model import EnvironmentVariable, Parameter
from ddtree_ops.runtime.parameters.renames import Renamed, renamed


class What(StrEnum):
    """Which property of a parameter changed."""

    DEFAULT = "default"
    TYPE = "type"
    CHOICES = "choices"
    FLAGS = "flags"
    DEPRECATED = "deprecated"


@dataclass(frozen=True, slots=True)
class Changed:
    """A property of one parameter; `before` and `after` are texts, None where there is none."""

    what: What
    before: str | None
    after: str | None
    parameter: Parameter
    former: Parameter


@dataclass(frozen=True, slots=True)
class EnvironmentChanged:
    """A variable's default, or its deprecation."""

    what: What
    before: str | None
    after: str | None
    variable: EnvironmentVariable


@dataclass(frozen=True)
class Differences:
    """From one tree to another. What is renamed is neither among the added nor among the removed."""

    before: tuple[Parameter, ...]
    after: tuple[Parameter, ...]
    added: tuple[Parameter, ...]
    removed: tuple[Parameter, ...]
    renamed: tuple[Renamed, ...]
    changed: tuple[Changed, ...]
    environment_before: tuple[EnvironmentVariable, ...] = ()
    environment_after: tuple[EnvironmentVariable, ...] = ()
    environment_added: tuple[EnvironmentVariable, ...] = ()
    environment_removed: tuple[EnvironmentVariable, ...] = ()
    environment_changed: tuple[EnvironmentChanged, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing differs."""
        parameters = self.added or self.removed or self.renamed or self.changed
        return not (parameters or self.environment_added or self.environment_removed or self.environment_changed)


def compare(
    before: Sequence[Parameter],
    after: Sequence[Parameter],
    environment_before: Sequence[EnvironmentVariable] = (),
    environment_after: Sequence[EnvironmentVariable] = (),
) -> Differences:
    """What is different in `after`. Mere mentions of variables don't count."""
    old, new = _by_name(before), _by_name(after)
    pairs = renamed(before, after)
    gone = {one.before.name for one in pairs}
    come = {one.after.name for one in pairs}
    changed = [one for name in new if name in old and name not in gone for one in _changes(old[name], new[name])]
    changed += [one for pair in pairs for one in _changes(pair.before, pair.after) if one.what is not What.FLAGS]
    old_env = {one.name: one for one in environment_before if one.declared}
    new_env = {one.name: one for one in environment_after if one.declared}
    return Differences(
        tuple(before),
        tuple(after),
        added=tuple(one for name, one in new.items() if name not in old and name not in come),
        removed=tuple(one for name, one in old.items() if name not in new and name not in gone),
        renamed=pairs,
        changed=tuple(changed),
        environment_before=tuple(environment_before),
        environment_after=tuple(environment_after),
        environment_added=tuple(one for name, one in new_env.items() if name not in old_env),
        environment_removed=tuple(one for name, one in old_env.items() if name not in {v.name for v in environment_after}),
        environment_changed=tuple(
            one for name in new_env if name in old_env for one in _env_changes(old_env[name], new_env[name])
        ),
    )


_SAME = ({"False", "0"}, {"True", "1"})  # of a switch that became a number


def _by_name(parameters: Sequence[Parameter]) -> Mapping[str, Parameter]:
    found: dict[str, Parameter] = {}
    for one in parameters:
        found.setdefault(one.name, one)
    return found


def _changes(old: Parameter, new: Parameter) -> list[Changed]:
    pairs = {
        What.DEFAULT: (_default(old), _default(new)),
        What.TYPE: (_type(old), _type(new)),
        What.CHOICES: (_choices(old), _choices(new)),
        What.FLAGS: (_flags(old), _flags(new)),
        What.DEPRECATED: (old.deprecated, new.deprecated),
    }
    found = [Changed(what, was, now, new, old) for what, (was, now) in pairs.items() if was != now]
    both = bool(old.deprecated) == bool(new.deprecated)
    return [one for one in found if not (one.what is What.DEPRECATED and both)]


def _default(one: Parameter) -> str | None:
    """None and no default at all come to the same: nothing is set."""
    text = one.value if one.value is not None else one.default
    return None if text == "None" else text


def _type(one: Parameter) -> str | None:
    """As argparse reads it: `Optional[int]` written as `int | None` is no other type."""
    if not one.flags:
        return None
    return "switch" if one.nargs == "0" else f"{one.parse or 'str'}{f' ({one.nargs})' if one.nargs else ''}"


def _choices(one: Parameter) -> str | None:
    return None if one.choices is None else ", ".join(sorted(one.choices))


def _flags(one: Parameter) -> str | None:
    return ", ".join(sorted(one.flags)) or None


def _env_changes(old: EnvironmentVariable, new: EnvironmentVariable) -> list[EnvironmentChanged]:
    found = []
    if old.type and new.type and old.default != new.default and {old.default, new.default} not in _SAME:
        found.append(EnvironmentChanged(What.DEFAULT, old.default, new.default, new))
    if bool(old.deprecated) != bool(new.deprecated):
        found.append(EnvironmentChanged(What.DEPRECATED, old.deprecated, new.deprecated, new))
    return found
