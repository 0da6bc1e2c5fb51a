"""Text of `params`, which people send through `head` and pagers."""

from __future__ import annotations

from collections.abc import Iterable

import click

from ddtree_ops.cli.closed_pipe import reader_may_leave


def show_lines(lines: Iterable[str]) -> None:
    """Print them until nobody reads any more."""
    with reader_may_leave():
        for line in lines:
            click.echo(line)
