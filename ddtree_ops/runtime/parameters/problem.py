"""One thing that a runtime would not take as it is written."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProblemKind(StrEnum):
    """What is wrong."""

    UNKNOWN_ARGUMENT = "unknown_argument"
    AMBIGUOUS_ARGUMENT = "ambiguous_argument"
    WRONG_TYPE = "wrong_type"
    NOT_A_CHOICE = "not_a_choice"
    MISSING_VALUE = "missing_value"
    UNEXPECTED_VALUE = "unexpected_value"
    MISSING_ARGUMENT = "missing_argument"
    DEPRECATED_ARGUMENT = "deprecated_argument"
    REPEATED_ARGUMENT = "repeated_argument"
    UNKNOWN_ENVIRONMENT = "unknown_environment"
    DEPRECATED_ENVIRONMENT = "deprecated_environment"
    WRONG_ENVIRONMENT_VALUE = "wrong_environment_value"


@dataclass(frozen=True, slots=True)
class Problem:
    """`certain`: the server ends with status 2 on it; else it starts, and does something else than the spec reads like.

    `file` and `line` are where the tree declares what is meant (None where it declares nothing alike).
    """

    kind: ProblemKind
    name: str
    message: str
    fix: str
    file: str | None = None
    line: int | None = None
    certain: bool = True
