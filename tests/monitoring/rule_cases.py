"""The cases of dashboards/prometheus/tests, each with only those rules that read a series of it, in one run of promtool.

What is left out answers nothing there, since a rule without any series answers nothing (`without_series` holds that). promtool
evaluates every rule at every step, so this is most of the time.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.monitoring.promtool import FEWER_COLLECTIONS, RULES, TESTS, Rule, metrics, program, rules

_SERIES = re.compile(r"[\w:]+")
_BEGINS = "Unit Testing:  "


class _Loader(yaml.CSafeLoader):
    """Only decimal numbers are numbers: 0x95 is ninety-five more zeros."""


_INT = "tag:yaml.org,2002:int"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, shape) for tag, shape in known if tag != _INT] for first, known in _Loader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_INT, re.compile(r"-?[0-9]+$"), [*"-0123456789"])


@dataclass(frozen=True)
class Case:
    """One of the `tests` of a file; `settings` are what stands beside them there."""

    file: Path
    number: int
    content: dict[str, Any]
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.file.stem}-{self.number}"

    def read(self) -> frozenset[str]:
        """Names of the series that are given."""
        return frozenset(found[0] for row in self.content["input_series"] if (found := _SERIES.match(row["series"])))


@cache
def cases() -> tuple[Case, ...]:
    """All of them."""
    return tuple(case for file in TESTS for case in _of(file))


def _of(file: Path) -> Iterator[Case]:
    settings = yaml.load(file.read_text(), _Loader)  # noqa: S506  of a safe kind
    del settings["rule_files"]
    for number, content in enumerate(settings.pop("tests"), 1):
        yield Case(file, number, content, settings)


def that_read(given: frozenset[str], among: Sequence[Rule]) -> list[Rule]:
    """Rules that may answer something where only these series are, in their order."""
    known, chosen = set(given), set[str]()
    while new := [rule for rule in among if rule.name not in chosen and metrics(rule.expression) & known]:
        chosen |= {rule.name for rule in new}
        known |= {rule.name for rule in new if not rule.alert}
    return [rule for rule in among if rule.name in chosen]


def write(case: Case, chosen: Sequence[Rule], folder: Path) -> Path:
    """What promtool reads. JSON is YAML, and quickly written."""
    groups = [
        {"name": path.stem, "rules": [rule.content for rule in chosen if rule.group == path.stem]}
        for path in RULES
        if any(rule.group == path.stem for rule in chosen)
    ]
    rule_file, test_file = folder / f"{case.name}.rules.json", folder / f"{case.name}.json"
    rule_file.write_text(json.dumps({"groups": groups}))
    test_file.write_text(json.dumps({**case.settings, "rule_files": [str(rule_file)], "tests": [case.content]}))
    return test_file


def judged(files: Sequence[Path], folder: Path) -> dict[str, str]:
    """What promtool says of each case, by its name; a text that doesn't end with SUCCESS is a complaint."""
    argv = (program("promtool"), "test", "rules", *(file.name for file in files))
    done = subprocess.run(
        argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=FEWER_COLLECTIONS
    )
    parts = done.stdout.split(_BEGINS)[1:]
    said = {first.removesuffix(".json"): rest.strip() for first, _, rest in (part.partition("\n") for part in parts)}
    assert len(said) == len(files), done.stdout
    return said


def without_series() -> Case:
    """No rule answers anything where there is nothing."""
    asked: list[dict[str, Any]] = [{"expr": '{__name__=~".+"}', "eval_time": time, "exp_samples": []} for time in ("0s", "10m")]
    content = {"interval": "1m", "input_series": [], "promql_expr_test": asked}
    return Case(Path("without-series"), 0, content, {"evaluation_interval": "1m"})


def all_judged(folder: Path) -> dict[str, str]:
    """Every case, and that of no series."""
    every = list(rules())
    files = [write(without_series(), every, folder), *(write(case, that_read(case.read(), every), folder) for case in cases())]
    return judged(files, folder)
