"""`file:line` as people can click on it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli.terminal import colour_wanted
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.runtime.source.model import SourceTree


class Places:
    """Files of a tree: on a terminal a link to the file (OSC 8, which other terminals skip), if it lies on this machine."""

    def __init__(self, tree: SourceTree) -> None:
        linked = colour_wanted() and sys.stdout.isatty()
        self._paths = {file.name: file.path for file in tree.files if file.path is not None} if linked else {}

    def at(self, file: str, line: int) -> str:
        """`sglang/srt/server_args.py:608`, coloured."""
        text = click.style(one_line(f"{file}:{line}" if line else file), fg="cyan")
        path = self._paths.get(file)
        if path is None or not path.is_absolute():
            return text
        return f"\x1b]8;;{path.as_uri()}\x1b\\{text}\x1b]8;;\x1b\\"
