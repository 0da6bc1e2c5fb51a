"""Options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def inventory(function: F) -> F:
    return click.option(
        "-i",
        "--inventory",
        type=click.Path(path_type=Path),
        envvar="DDTREE_OPS_INVENTORY",
        default=Path("inventory"),
        show_default=True,
        help="Ansible inventory: a directory or a YAML file.",
    )(function)


def hosts(function: F) -> F:
    """--host (repeatable) and --group."""
    function = click.option("--group", metavar="GROUP", help="All hosts of an inventory group.")(function)
    return click.option("--host", "hosts", metavar="HOST", multiple=True, help="A host of the inventory; repeatable.")(function)


def one_host(function: F) -> F:
    return click.option("--host", metavar="HOST", required=True, help="A host of the inventory.")(function)


def output_format(function: F) -> F:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="json is for scripts: stdout holds nothing else, progress goes to stderr.",
    )(function)
