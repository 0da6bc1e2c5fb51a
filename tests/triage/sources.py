"""Source trees of golden cases, put together from small packages and asked as `triage --source` asks them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from ddtree_ops.flows.origins import from_tree
from ddtree_ops.report.failure import FailureReport

PACKAGES = Path(__file__).parent.parent / "cases" / "sources" / "source-trees"


def with_sources(report: FailureReport, packages: Sequence[str]) -> FailureReport:
    """The report with what these packages, beside each other in one folder, say of its numbers. The cache is a fresh one."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"XDG_CACHE_HOME": f"{folder}/cache"}):
        tree = put_together(Path(folder) / "tree", packages)
        return from_tree(report, tree, lambda _: None)


def put_together(tree: Path, packages: Sequence[str]) -> Path:
    """A folder that holds these packages."""
    for name in packages:
        shutil.copytree(PACKAGES / name, tree, dirs_exist_ok=True)
    return tree
