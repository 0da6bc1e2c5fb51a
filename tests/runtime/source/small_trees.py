"""Small trees as they lie on disks: packages, venvs, wheels."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

from ddtree_ops.runtime.extract import EXTRACTOR_VERSION
from ddtree_ops.runtime.source import index
from ddtree_ops.runtime.source.model import SourceTree
from ddtree_ops.runtime.source.store import Store

ENGINE: Mapping[str, str] = {
    "sglang/__init__.py": "",
    "sglang/_version.py": "__version__ = version = '0.5.13.post1'\n",
    "sglang/srt/server_args.py": "class ServerArgs:\n    tp_size: int = 1\n    page_size: int = 1\n",
    "sglang/srt/runner.py": "def run(server_args):\n    width = server_args.tp_size * 2\n    return width\n",
    "sglang/test/test_it.py": "tp_size = 7\n",
}
PLUGIN: Mapping[str, str] = {"our_plugin/__init__.py": "", "our_plugin/hook.py": "BUDGET = 32\n"}
ENTRY_POINTS = "[sglang.srt.plugins]\nours = our_plugin.hook:install\n\n[console_scripts]\nx = other.cli:main\n"
LONG_AGO = 1_700_000_000


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Files written long ago: one written just now isn't trusted to stay."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (LONG_AGO, LONG_AGO))
    return root


def venv(root: Path) -> Path:
    """With SGLang, a plugin, and a package that is neither."""
    write(root, {"pyvenv.cfg": "version = 3.12\n"})
    site = root / "lib" / "python3.12" / "site-packages"
    write(site, {**ENGINE, **PLUGIN, "other/__init__.py": "tp_size = 3\n"})
    write(site, {"our_plugin-1.0.dist-info/entry_points.txt": ENTRY_POINTS})
    write(site, {"sglang-0.5.13.post2.dist-info/METADATA": "Name: sglang\n"})
    return root


def wheel(path: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def is_warm(tree: SourceTree, cache: Path) -> bool:
    """Whether build() would have nothing to read."""
    store = Store(cache, EXTRACTOR_VERSION)
    try:
        return index._all_known(tree, store, index._remembered(tree, store)) is not None
    finally:
        store.close()
