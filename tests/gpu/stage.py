"""What every stage is made of: `needs(options)` names its servers, `run(options, servers)` returns what was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.gpu.results import Verdict
from tests.gpu.server import Servers, ServerSpec


@dataclass(frozen=True, slots=True)
class Options:
    """Where the models lie and results go; `seconds` is the length of the load stage."""

    out: Path
    models: Path
    budgets: tuple[int, ...]
    seconds: float
    device: str


@dataclass(frozen=True, slots=True)
class Found:
    """A stage's figures (JSON) and verdicts."""

    findings: dict[str, Any]
    verdicts: tuple[Verdict, ...] = ()


class Stage(Protocol):
    """A module of tests.gpu.stages."""

    def needs(self, options: Options, /) -> tuple[ServerSpec, ...]:
        """The servers to start before; they may be shared with other stages."""

    def run(self, options: Options, servers: Servers, /) -> Found:
        """Do it. May raise NoAnswer or ServerDied: the stage broke off then."""
