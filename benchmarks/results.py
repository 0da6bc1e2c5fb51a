"""Results as JSON: one file a benchmark in benchmarks/results, which docs/benchmarks.md is made from."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"
SCHEMA = "ddtree-ops/benchmark/v1"


def write(path: Path, name: str, machine: dict[str, Any], **content: Any) -> None:
    """Replace the file of one benchmark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"schema": SCHEMA, "benchmark": name, "machine": machine, **content}
    path.write_text(json.dumps(document, indent=1) + "\n")
    tell(f"written: {path}")


def read(path: Path) -> dict[str, Any]:
    """Raises ValueError for what is no result."""
    document = json.loads(path.read_text())
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{path}: no {SCHEMA}")
    return document


def tell(text: str) -> None:
    """A line for the person who watches."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
