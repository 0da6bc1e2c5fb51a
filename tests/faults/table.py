"""What came of the faults: one row each, as a table and as JSON."""

from __future__ import annotations

import json
import platform
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.faults.matrix import Fault, Step

PROPERTY = "fault_row"
SCHEMA = "ddtree-ops/faults/v1"
PROJECT = Path(__file__).resolve().parents[2]


class Results:
    """Collects the rows of one run."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def take(self, reports: Iterable[pytest.TestReport]) -> None:
        """Rows of the finished tests; a test that failed says why in its row."""
        for report in reports:
            properties = dict(report.user_properties)
            if report.when == "call" and PROPERTY in properties:
                row = dict(json.loads(str(properties[PROPERTY])))
                verdict = {"verdict": "ok" if report.passed else "failed", "seconds": round(report.duration, 1)}
                self.rows.append({**row, **verdict, "why": why(report)})

    def table(self) -> str:
        return "\n".join((*matrix_lines(self.rows), "", *single_lines(self.rows)))

    def write(self, path: Path, *, whole: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document(self.rows, whole=whole), indent=1) + "\n")


def why(report: pytest.TestReport) -> str:
    """The first line of a failure."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return "" if crash is None else public(str(crash.message).partition("\n")[0])[:300]


def public(text: str) -> str:
    """Without what belongs to this machine: its folders, and the address of its package index."""
    for folder in (str(PROJECT), tempfile.gettempdir()):
        text = text.replace(folder, "...")
    return re.sub(r"https?://(?!127\.)[^\s/]{1,200}", "https://...", text)


def document(rows: Sequence[Mapping[str, Any]], *, whole: bool) -> dict[str, Any]:
    """All of a run, with when and where it ran."""
    commit = subprocess.run(
        ("git", "-C", PROJECT, "describe", "--always", "--dirty"), capture_output=True, text=True, check=False
    ).stdout
    return {
        "schema": SCHEMA,
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit.strip(),
        "machine": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "whole": whole,
        "rows": list(rows),
    }


def matrix_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Faults down, steps across: verdict and seconds."""
    cells = {(row["step"], row["fault"]): f"{row['verdict']} {row['seconds']:.0f} s" for row in rows if row.get("step")}
    if not cells:
        return []
    width = max(len(fault.value) for fault in Fault) + 2
    lines = [" " * width + "".join(f"{step.value:<14}" for step in Step)]
    for fault in Fault:
        if any(fault.value == name for _, name in cells):
            lines.append(f"{fault.value:<{width}}" + "".join(f"{cells.get((step.value, fault.value), '-'):<14}" for step in Step))
    return lines


def single_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Faults that belong to no step."""
    single = [row for row in rows if not row.get("step")]
    width = max((len(row["fault"]) for row in single), default=0) + 2
    return [f"{row['fault']:<{width}}{row['verdict']} {row['seconds']:.0f} s" for row in single]
