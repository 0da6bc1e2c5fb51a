"""What a source tree says of its server's parameters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """A server argument, or a field of the arguments' record that no flag sets (`flags` is empty).

    Texts are the source's own: `default` as written (a constant of another name is followed), `value` the Python literal it
    comes to (None where only running the code would tell), `type` the field's annotation, `parse` what turns a word of the
    command line into a value. `nargs` is argparse's: None takes one word, "0" none, else "?", "*", "+" or a number.
    `choices` is None where any value goes or the choices aren't constant. `record` is the field that a flag writes: another
    one than `name` for a deprecated alias. `successor` is what a deprecated one should be replaced by.
    """

    name: str
    flags: tuple[str, ...]
    type: str | None
    default: str | None
    choices: tuple[str, ...] | None
    help: str | None
    file: str
    line: int
    owner: str
    deprecated: str | None = None
    successor: str | None = None
    value: str | None = None
    parse: str | None = None
    nargs: str | None = None
    required: bool = False
    record: str | None = None
    choices_name: str | None = None
    choices_open: bool = False
    repeats: bool = False
    flag_file: str | None = None
    flag_line: int | None = None

    @property
    def takes_value(self) -> bool:
        """Whether the flag has a word after it."""
        return self.nargs != "0"


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    """A variable that the tree reads; `default` as source text.

    `declared` tells a declaration or a read from a mere mention of the name (in a text, as a constant, to set it for a child).
    """

    name: str
    default: str | None
    file: str
    line: int
    owner: str
    type: str | None = None
    deprecated: str | None = None
    successor: str | None = None
    declared: bool = True
