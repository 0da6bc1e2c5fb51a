"""The trees that golden cases are about, with an index for each, made once a test process."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
from pathlib import Path

import pytest

from ddtree_ops.runtime.source.index import Index, build
from ddtree_ops.runtime.source.tree import open_tree

from . import versions

IN_CI = "0.5.13.post1"
"""The version that runs in `make test`."""
PLUGIN = versions.REPOSITORY / "deploy" / "runtime" / "sglang_ddtree" / "src"
NAIVE = Path(__file__).with_name("naive_ddtree")


@functools.cache
def index(label: str) -> Index:
    """Skips (where make hasn't promised the tree) or fails if it isn't there."""
    return build(open_tree(_root(label)), cache=versions.folder() / "index")


def _root(label: str) -> Path:
    if label == "plugin":
        return _beside(label, PLUGIN / "sglang_ddtree")
    if label == "naive":
        return _beside(label, NAIVE)
    root = versions.folder() / label
    if not root.is_dir():
        missing = f"no source tree {root}; `python -m tests.runtime.versions {label}` fetches it"
        if os.environ.get(versions.FOLDER_VARIABLE):
            pytest.fail(missing)
        pytest.skip(missing)
    return root


def _beside(label: str, package: Path) -> Path:
    """SGLang with another package beside it, as in site-packages; unchanged files are links to the same content."""
    base, root = _root(IN_CI), versions.folder() / f"{label}-{os.getpid()}"
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(base, root, copy_function=os.link)
    shutil.copytree(package, root / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    metadata = root / f"{package.name}-1.dist-info"  # what makes a stranger among site-packages a plugin
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.name}\nVersion: 1\n")
    (metadata / "RECORD").write_text(f"{package.name}/__init__.py,,\n")
    (metadata / "entry_points.txt").write_text(f"[sglang.srt.plugins]\nddtree = {package.name}:load\n")
    return root
