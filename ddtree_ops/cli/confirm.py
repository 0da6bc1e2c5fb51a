"""Ask before a host is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli.show import plan_lines
from ddtree_ops.cli.view import LiveView

if TYPE_CHECKING:
    from ddtree_ops.cli.view import PlainView
    from ddtree_ops.fleet.plan import Plan


def asker(view: PlainView | LiveView) -> Callable[[Plan], bool]:
    """A question that shows the plan; the live line pauses while it waits."""

    def ask(plan: Plan) -> bool:
        if isinstance(view, LiveView):
            view.pause()
        for line in plan_lines(plan):
            click.echo(line, err=True)
        answer = click.confirm(f"change {plan.host}?", default=True, err=True)
        if isinstance(view, LiveView):
            view.resume()
        return answer

    return ask
