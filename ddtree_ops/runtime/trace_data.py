"""The document of `params trace`: what is known of a parameter in a source tree."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """One line of code. `function` is its qualified name, empty at the top of a module."""

    file: str
    line: int
    function: str
    code: str


@dataclass(frozen=True, slots=True)
class Defined:
    """Where the name is defined; `kind` is field, flag, env or attribute."""

    file: str
    line: int
    kind: str
    code: str


@dataclass(frozen=True, slots=True)
class Validation:
    """A test that depends on the value. `outcome` is the line that raises or warns, or the clamp itself."""

    file: str
    line: int
    function: str
    code: str
    kind: str
    condition: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A name whose value is computed from it."""

    name: str
    file: str
    line: int
    code: str


@dataclass(frozen=True, slots=True)
class BlindSpot:
    """A place on the way where the analysis can't see."""

    file: str
    line: int
    function: str
    code: str
    why: str


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether a value flows from `name` to another: the path if so, else how near it comes.

    `complete`: everything was followed; if not, a "no" only says that no way was found.
    """

    name: str
    reaches: bool
    path: tuple[Step, ...]
    nearest: tuple[Step, ...]
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Trace:
    """All about one name."""

    name: str
    root: str
    version: str | None
    definitions: tuple[Defined, ...]
    validations: tuple[Validation, ...]
    writes: tuple[Step, ...]
    reads: tuple[Step, ...]
    derived: tuple[Derived, ...]
    blind_spots: tuple[BlindSpot, ...]
    to: Reach | None

    def as_data(self) -> dict[str, Any]:
        """The JSON document."""
        return asdict(self)
