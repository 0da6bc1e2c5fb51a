"""Runs a job on several hosts as the command line asks: its options, its view, its one question, Ctrl-C."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ddtree_ops.cli.confirm import ask as ask_person
from ddtree_ops.cli.deploying import Deploying
from ddtree_ops.cli.interrupting import staged
from ddtree_ops.cli.progress_lines import also_lines
from ddtree_ops.cli.view import PlainView, make_view
from ddtree_ops.errors import exit_code
from ddtree_ops.fleet.plan import Plan
from ddtree_ops.flows.interrupted import INTERRUPTED_EXIT
from ddtree_ops.flows.progress import HostEnded, HostWaits, News, Tell
from ddtree_ops.flows.rollout import Rollout
from ddtree_ops.flows.schedule import Policy
from ddtree_ops.report.deployment import DeploymentReport


def run(rules: Policy, job: Deploying, *, ask: bool) -> tuple[tuple[DeploymentReport, ...], int]:
    """The reports in the order of the hosts, and the command's exit code. Raises KeyboardInterrupt at the third Ctrl-C."""
    names = tuple(job.hosts)
    with make_view(names) as view:
        tell = also_lines(view)

        def approve(plans: Sequence[Plan]) -> bool:
            if not ask:
                return True
            with interrupts.asking():
                return ask_person(view, plans)

        def on_interrupt() -> None:
            job.interrupt()
            if isinstance(view, PlainView):
                click.echo("interrupted: no more hosts begin, running ones end at their next step; again: at once", err=True)

        watch = tell if len(names) > 1 else _alone(tell)
        rollout = Rollout(names, rules, job, watch, approve=approve, on_begin=job.begin, on_interrupt=on_interrupt)
        with staged(rollout.interrupt) as interrupts:
            reports = rollout.run()
    return reports, INTERRUPTED_EXIT if rollout.interrupted else exit_code(report.exit_code for report in reports)


def _alone(tell: Tell) -> Tell:
    """One host has nobody to wait for, and its end is the report."""

    def some(news: News) -> None:
        if not isinstance(news, HostWaits | HostEnded):
            tell(news)

    return some
