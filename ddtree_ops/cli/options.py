"""Options that commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
RolloutValue = str | int | bool | None


class PathName(click.Path):
    """A path; unlike click's own type it refuses '', which would become the current directory, and a name that is too long."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value):
            self.fail("an empty path", param, ctx)
        try:
            os.lstat(value)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass
        except (OSError, ValueError) as error:
            self.fail(f"{os.fspath(value)!r}: {getattr(error, 'strerror', None) or error}", param, ctx)
        return super().convert(value, param, ctx)


def inventory(function: F) -> F:
    return click.option(
        "-i",
        "--inventory",
        type=PathName(path_type=Path),
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


def break_lock(function: F) -> F:
    return click.option(
        "--break-lock",
        is_flag=True,
        help="Take the host's lock from whoever holds it; that command stops at its next step. Ask its owner first.",
    )(function)


def rollout(function: F) -> F:
    """How several hosts are changed: --forks, --serial, --canary, --no-canary, --max-failures, --workers."""
    for option in (
        click.option(
            "--workers",
            metavar="N",
            type=click.IntRange(1, 200),
            help="Ansible's processes for all hosts together, each 10 to 25 MB.  [default: twice the cores]",
        ),
        click.option(
            "--max-failures",
            metavar="N",
            type=click.IntRange(min=1),
            default=1,
            show_default=True,
            help="Begin no more hosts once so many have failed.",
        ),
        click.option("--no-canary", is_flag=True, help="Let no host go first."),
        click.option("--canary", metavar="HOST", help="This host goes first, alone.  [default: the first that has to change]"),
        click.option("--serial", metavar="N|N%", help="Finish so many hosts before the next ones begin."),
        click.option(
            "--forks",
            metavar="N",
            type=click.IntRange(1, 200),
            default=10,
            show_default=True,
            help="Hosts at work at the same time.",
        ),
    ):
        function = option(function)
    return function
