"""A stage's result: one JSON file, written once, never edited, merged into the report by `tests.gpu.report`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim of the issue and whether this run bears it out; `right` None: it could not be judged, and why is in `seen`."""

    claim: str
    right: bool | None
    seen: str


@dataclass(frozen=True, slots=True)
class Result:
    """`findings` are the stage's own figures; `machine` is `describe_machine()`; `date` is UTC, ISO 8601."""

    stage: str
    date: str
    seconds: float
    machine: dict[str, Any]
    arguments: dict[str, Any]
    findings: dict[str, Any]
    verdicts: tuple[Verdict, ...] = field(default=())


class BadResult(Exception):
    """A file that is no result of a stage."""


def write_result(result: Result, folder: Path) -> Path:
    """`folder`/STAGE.json; a name with a number where one lies already: nothing that was measured is overwritten."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.stage}.json"
    number = 2
    while path.exists():
        path, number = folder / f"{result.stage}-{number}.json", number + 1
    path.write_text(json.dumps(asdict(result), indent=1, sort_keys=True) + "\n")
    return path


def read_results(paths: Iterable[Path]) -> list[Result]:
    """All results, oldest first. Raises BadResult for a file that lacks a field or has one too many."""
    return sorted((read_result(path) for path in paths), key=lambda result: (result.date, result.stage))


def read_result(path: Path) -> Result:
    try:
        loaded = json.loads(path.read_text())
        loaded["verdicts"] = tuple(Verdict(**verdict) for verdict in loaded["verdicts"])
        return Result(**loaded)
    except (ValueError, TypeError, KeyError) as error:
        raise BadResult(f"{path.name}: {error}") from error


def latest(results: Iterable[Result]) -> dict[str, Result]:
    """The newest result of each stage."""
    return {result.stage: result for result in sorted(results, key=lambda result: result.date)}
