"""Where each server argument and environment variable comes from: the spec's sections, its own words, or the profile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.fleet.profile import Default, HardwareProfile, Speculation, Value
from ddtree_ops.fleet.server_args import words


class Origin(StrEnum):
    """`SECTION`: follows from a section such as `ddtree`; `SPEC`: from server_args or environment; `PROFILE`: a default."""

    SECTION = "section"
    SPEC = "spec"
    PROFILE = "profile"


@dataclass(frozen=True, slots=True)
class Setting:
    """One argument or variable. Value None or False: left out. `default` is the profile's value that the spec replaces."""

    name: str
    value: Value
    origin: Origin
    reason: str = ""
    source: str = ""
    default: Value = None


def argument_settings(
    own: Mapping[str, Value], given: Mapping[str, Value], hardware: HardwareProfile, speculation: Speculation
) -> tuple[Setting, ...]:
    """The spec's own sections first, in their order, then everything else by name."""
    first = tuple(Setting(name, value, Origin.SECTION) for name, value in own.items() if value is not None)
    return first + tuple(_merge(given, hardware.argument_defaults(speculation)))


def environment_settings(
    given: Mapping[str, str | None], hardware: HardwareProfile, speculation: Speculation
) -> tuple[Setting, ...]:
    """By name."""
    return tuple(_merge(given, hardware.environment_defaults(speculation)))


def argv_of(settings: tuple[Setting, ...]) -> tuple[str, ...]:
    """The words of a command line."""
    return tuple(word for setting in settings for word in words(setting.name, setting.value))


def _merge(given: Mapping[str, Value], defaults: Mapping[str, Default]) -> Iterator[Setting]:
    for name in sorted(given.keys() | defaults.keys()):
        default = defaults.get(name)
        value = default.value if default else None
        if name in given:
            yield Setting(name, given[name], Origin.SPEC, default=value)
        elif default:
            yield Setting(name, value, Origin.PROFILE, default.reason, default.source)
