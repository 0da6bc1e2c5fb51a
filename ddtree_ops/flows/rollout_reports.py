"""Reports of hosts whose own flow could not write one: not begun, or broken by a mistake of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.flows.mistake import mistake
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Serving, Step

NOT_BEGUN_EXIT = 6
UNKNOWN = Serving(None, known=False)


def not_begun(host: str, why: str, seen: DeploymentReport | None = None) -> DeploymentReport:
    """The host is as it was; `seen` is what the look at it found."""
    report = seen or DeploymentReport.broken_off(host, Outcome.NOT_BEGUN, NOT_BEGUN_EXIT, (), UNKNOWN)
    return replace(
        report,
        outcome=Outcome.NOT_BEGUN,
        exit_code=NOT_BEGUN_EXIT,
        seconds=sum(step.seconds for step in report.steps),  # without the time that it waited
        error=None,
        hint=None,
        evidence=(),
        reason=why,
    )


def failed(host: str, error: DdtreeOpsError, steps: Sequence[Step]) -> DeploymentReport:
    """An expected error outside the flow itself."""
    report = DeploymentReport.broken_off(host, Outcome.FAILED, error.exit_code, steps, UNKNOWN)
    return replace(report, error=error.message, hint=error.hint, evidence=error.evidence)


def crashed(host: str, error: BaseException, steps: Sequence[Step]) -> DeploymentReport:
    """A mistake of ours: the traceback is the evidence."""
    report = DeploymentReport.broken_off(host, Outcome.FAILED, 1, steps, UNKNOWN)
    told = mistake(host, error)
    return replace(report, error=told.message, hint=told.hint, evidence=told.evidence)
