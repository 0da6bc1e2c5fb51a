"""Ask once before hosts are changed, with all plans in view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli.plan_view import plan_lines

if TYPE_CHECKING:
    from ddtree_ops.cli.table import TableView
    from ddtree_ops.cli.view import LiveView, PlainView
    from ddtree_ops.fleet.plan import Plan


def ask(view: PlainView | LiveView | TableView, plans: Sequence[Plan]) -> bool:
    """Show the plans and ask; what is drawn live pauses while the question waits."""
    view.pause()
    try:
        for plan in plans:
            if len(plans) > 1:
                click.echo(f"{click.style(plan.host, bold=True)}  to {plan.release.id}", err=True)
            for line in plan_lines(plan):
                click.echo(line, err=True)
        return click.confirm(question(plans), default=True, err=True)
    finally:
        view.resume()


def question(plans: Sequence[Plan]) -> str:
    """`change ct200?`, `change 3 hosts (ct200, b300, b301)?`"""
    names = [plan.host for plan in plans]
    return f"change {names[0]}?" if len(names) == 1 else f"change {len(names)} hosts ({', '.join(names)})?"
