"""What the check of the models' files says, read with suspicion: the host may be damaged, or lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.report.safe_text import one_line

_MOST = 2**63  # bytes, and files: no file system holds more
_LONGEST_TEXT = 500


def _shown(value: object) -> object:
    return one_line(value, _LONGEST_TEXT) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_shown)]
Count = Annotated[int, Field(ge=0, lt=_MOST)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class Progress(_Part):
    """`done` and `total` are bytes."""

    model: Text
    done: Count
    total: Count


class Finding(_Part):
    """A file that isn't as the manifest says; an error stops a deploy, a warning doesn't."""

    path: Text
    problem: Text
    fix: Text
    severity: Text


class Answer(_Part):
    """The final document: `checked` files of `bytes` were read, `remembered` ones are as they were when they were good."""

    findings: list[Finding]
    checked: Count
    remembered: Count
    bytes: Count
    seconds: Annotated[float, Field(ge=0, lt=1e9)]


class _Document(_Part):
    progress: Progress


def read(document: Mapping[str, Any]) -> Progress | Answer:
    """A line of the answer. Raises HostCommandFailed for one that the program never prints."""
    try:
        if "findings" in document:
            return Answer.model_validate(document)
        return _Document.model_validate(document).progress
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise HostCommandFailed(one_line(f"an odd answer: {where}: {first['msg']}", _LONGEST_TEXT)) from None
