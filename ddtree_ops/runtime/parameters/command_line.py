"""Reading a command line as argparse would, against declared parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddtree_ops.runtime.parameters.model import Parameter

_NEGATIVE = re.compile(r"-\d+$|-\d*\.\d+$")  # argparse takes these as values where no flag looks like a number
_OPTIMIZE = "--optimization-level"  # which vLLM's parser takes as -O, -O3 and -O=3, too
_DEEP_OWNER = "vllm"  # its parser takes --a_b for --a-b, and --config.key (vllm/utils/argparse_utils.py of 0.22.1)


@dataclass(frozen=True, slots=True)
class Setting:
    """A flag of a command line with its words. `parameter` is None where no flag, or more than one, is meant."""

    written: str
    words: tuple[str, ...]
    parameter: Parameter | None
    candidates: tuple[str, ...] = ()
    flag: str | None = None
    extra: tuple[str, ...] = ()
    """Words after it that belong to no flag: argparse calls them unrecognized."""

    @property
    def name(self) -> str | None:
        """The record's field that it sets."""
        return None if self.parameter is None else self.parameter.record or self.parameter.name


@dataclass(frozen=True)
class Flags:
    """All flags of a tree."""

    by_flag: Mapping[str, Parameter]
    lenient: bool

    @classmethod
    def of(cls, declared: Sequence[Parameter]) -> Flags:
        """The flags of declared parameters."""
        by_flag = {flag: one for one in declared for flag in one.flags if flag.startswith("-")}
        lenient = any(one.owner == _DEEP_OWNER for one in declared)
        if lenient and _OPTIMIZE in by_flag:
            by_flag["-O"] = by_flag[_OPTIMIZE]
        return cls(by_flag, lenient)

    def find(self, written: str) -> tuple[str, ...]:
        """The flags that a word may mean: itself, or those that it begins (argparse's allow_abbrev)."""
        if written in self.by_flag:
            return (written,)
        if self.lenient and written.startswith("--"):
            plain = written.split(".", maxsplit=1)[0].replace("_", "-")
            if plain in self.by_flag:
                return (plain,)
        if not written.startswith("--") or len(written) < 3:
            return ()
        return tuple(sorted(flag for flag in self.by_flag if flag.startswith(written)))


def settings(argv: Sequence[str], declared: Sequence[Parameter]) -> tuple[Setting, ...]:
    """The flags of a command line in order; `argv` is without the program and its module."""
    flags = Flags.of(declared)
    found: list[Setting] = []
    place = 0
    while place < len(argv):
        word = argv[place]
        place += 1
        if not _is_flag(word):
            found.append(Setting(word, (), None))
            continue
        written, equals, value = _split(word, flags)
        following = list(_values(argv[place:]))
        candidates = flags.find(written)
        parameter = _the_one(flags, candidates)
        taken = _taken(parameter, bool(equals), len(following))
        words = ((value,) if equals else ()) + tuple(following[:taken])
        place += len(following)
        rest = tuple(following[taken:]) if parameter is not None else ()
        flag = candidates[0] if parameter is not None else None
        found.append(Setting(written, words if parameter else tuple(following), parameter, candidates, flag, rest))
    return tuple(found)


def _split(word: str, flags: Flags) -> tuple[str, str, str]:
    """`--a=1` and `-a=1`, and `-a1` for a flag of one letter."""
    if word in flags.by_flag:
        return word, "", ""
    if not word.startswith("--") and word[:2] in flags.by_flag:
        return word[:2], "=", word[2:].removeprefix("=")
    written, equals, value = word.partition("=")
    return written, equals, value


def _is_flag(word: str) -> bool:
    return word.startswith("-") and len(word) > 1 and not _NEGATIVE.match(word) and " " not in word


def _values(words: Sequence[str]) -> Sequence[str]:
    end = next((place for place, word in enumerate(words) if _is_flag(word)), len(words))
    return words[:end]


def _the_one(flags: Flags, candidates: tuple[str, ...]) -> Parameter | None:
    """argparse takes an abbreviation that begins one flag only; two flags of one argument are two to it."""
    return flags.by_flag[candidates[0]] if len(candidates) == 1 else None


def _taken(parameter: Parameter | None, has_equals: bool, there: int) -> int:
    """How many of the following words belong to the flag."""
    if parameter is None or has_equals or parameter.nargs == "0":
        return 0
    if parameter.nargs in (None, "?"):
        return min(1, there)
    return min(int(parameter.nargs), there) if parameter.nargs.isdigit() else there
