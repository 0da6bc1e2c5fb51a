"""A refusal: why a configuration can't be served by DDTREE, and what to change. It ends the process before anything is loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from ..exit_codes import ExitCode


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a server must not start; reason and fix are one line each."""

    reason: str
    fix: str

    def __str__(self) -> str:
        return f"{self.reason}. Fix: {self.fix}"


class Refused(SystemExit):
    """Ends the process with status 78 (a configuration error; restarting can't help). SGLang catches only ordinary exceptions
    of plugins, so nothing less keeps a server from starting without its algorithm."""

    def __init__(self, refusals: Iterable[Refusal]) -> None:
        self.refusals = tuple(refusals)
        super().__init__(int(ExitCode.REFUSED))

    @property
    def message(self) -> str:
        """All refusals in one line."""
        return "DDTREE refuses: " + " | ".join(str(refusal) for refusal in self.refusals)


def refuse(*refusals: Refusal) -> NoReturn:
    """Say the refusals on stderr, one line each, and end the process. Raises Refused."""
    for refusal in refusals:
        print(f"ddtree: refused: {refusal}", file=sys.stderr)
    sys.stderr.flush()
    raise Refused(refusals)
