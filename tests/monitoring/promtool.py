"""What tests of rules read: the rule files, and the programs of Debian's packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
import yaml

PROJECT = Path(__file__).resolve().parents[2]
HOME = PROJECT / "dashboards" / "prometheus"
RULES = sorted((HOME / "rules").glob("*.yml"))
TESTS = sorted((HOME / "tests").glob("*.yml"))
WRITER: dict[str, Any] = run_path(str(PROJECT / "docs" / "write_alerts.py"))
#: Of garbage: a third less CPU time for what ends in a few seconds.
FEWER_COLLECTIONS = {**os.environ, "GOGC": "400"}
_PACKAGES = {"promtool": "prometheus", "amtool": "prometheus-alertmanager"}
# Words of PromQL that stand where a name of a metric could.
_WORDS = {"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "offset", "bool"}


@dataclass(frozen=True)
class Rule:
    """A rule as Prometheus gets it; `name` is the alert's or the recorded series'."""

    name: str
    group: str
    alert: bool
    content: dict[str, Any]

    @property
    def expression(self) -> str:
        return str(self.content["expr"])


def rules() -> Iterator[Rule]:
    """All of them."""
    for path in RULES:
        for group in yaml.load(path.read_text(), yaml.CSafeLoader)["groups"]:
            for rule in group["rules"]:
                yield Rule(rule.get("alert") or rule["record"], group["name"], "alert" in rule, rule)


def metrics(expression: str) -> set[str]:
    """The names of series in an expression, by what can't be one: words, functions, labels, strings, durations."""
    text = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^\]]*\]', " ", expression)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", " ", text)
    found = re.finditer(r"(?<![\w:.])([a-zA-Z_:][\w:]*)(\s*\()?", text)
    return {name[1] for name in found if not name[2] and name[1] not in _WORDS}


def program(name: str) -> str:
    """Where it is; fails with the package's name if it isn't."""
    place = shutil.which(name)
    if place is None:
        pytest.fail(f"{name} is missing: apt-get install {_PACKAGES.get(name, name)}")
    return place


def run(argv: Sequence[str], folder: Path) -> str:
    """What it printed; fails the test with that if it didn't succeed."""
    done = subprocess.run(
        (program(argv[0]), *argv[1:]), cwd=folder, capture_output=True, text=True, check=False, env=FEWER_COLLECTIONS
    )
    if done.returncode:
        pytest.fail(f"{' '.join(argv)}\n{done.stdout}{done.stderr}")
    return done.stdout
