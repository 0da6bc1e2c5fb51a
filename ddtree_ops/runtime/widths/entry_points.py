"""Which packages SGLang loads as plugins: entry points of the group `sglang.srt.plugins`, narrowed by SGLANG_PLUGINS.

Source: sglang 0.5.13.post1, srt/plugins/__init__.py (load_plugins_by_group); the file's form: packaging.python.org, entry points.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterable

from ddtree_ops.runtime.widths.sources import SourceFile

GROUP = "sglang.srt.plugins"
_FILE = ".dist-info/entry_points.txt"
_MOST_BYTES = 64 << 10


def plugin_packages(files: Iterable[SourceFile]) -> dict[str, str]:
    """Package (or module) by the name of its entry point; empty where the tree has no lists of entry points."""
    found: dict[str, str] = {}
    for file in files:
        if not file.name.endswith(_FILE):
            continue
        parser = configparser.ConfigParser(delimiters=("=",), strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
        try:
            parser.read_string(file.read()[:_MOST_BYTES].decode("utf-8", "replace"))
        except (OSError, configparser.Error):
            continue
        if parser.has_section(GROUP):
            found |= {name: value.split(":")[0].split(".")[0].strip() for name, value in parser.items(GROUP)}
    return found


def chosen(packages: dict[str, str], variable: str | None) -> frozenset[str] | None:
    """The packages that SGLANG_PLUGINS lets in; None: all of them, or it isn't known which."""
    names = {name.strip() for name in (variable or "").split(",") if name.strip()}
    return frozenset(package for name, package in packages.items() if name in names) if names and packages else None
