"""Reports of hosts whose own flow could not write one: not begun, interrupted, or broken by a mistake of ours."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import replace

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.flows.server import Server
from ddtree_ops.flows.wayback import serving_now
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Serving, Step, StepState

NOT_BEGUN_EXIT = 6
INTERRUPTED_EXIT = 130
UNKNOWN = Serving(None, known=False)


def not_begun(host: str, why: str, seen: DeploymentReport | None = None) -> DeploymentReport:
    """The host is as it was; `seen` is what the look at it found."""
    report = seen or _report(host, Outcome.NOT_BEGUN, NOT_BEGUN_EXIT, (), UNKNOWN)
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


def interrupted(host: str, release: str | None, steps: Sequence[Step], serving: Serving = UNKNOWN) -> DeploymentReport:
    """Stopped by a person, at its last step."""
    last = steps[-1] if steps else None
    where = "before its first step" if last is None else f"{'in' if last.state is StepState.FAILED else 'after'} {last.name}"
    report = _report(host, Outcome.INTERRUPTED, INTERRUPTED_EXIT, steps, serving)
    hint = f"the same deploy takes it up again; `ddtree-ops rollback --host {host}` goes back"
    return replace(report, release=release, error=f"{host}: interrupted {where}", hint=hint)


def interrupted_at(server: Server, release: str, steps: Sequence[Step]) -> DeploymentReport:
    """The same, with what the host serves now."""
    serving = serving_now(server, DdtreeOpsError("interrupted"))
    return interrupted(server.shell.host, release, steps, serving)


def failed(host: str, error: DdtreeOpsError, steps: Sequence[Step]) -> DeploymentReport:
    """An expected error outside the flow itself."""
    report = _report(host, Outcome.FAILED, error.exit_code, steps, UNKNOWN)
    return replace(report, error=error.message, hint=error.hint, evidence=error.evidence)


def crashed(host: str, error: BaseException, steps: Sequence[Step]) -> DeploymentReport:
    """A mistake of ours: the traceback is the evidence."""
    report = _report(host, Outcome.FAILED, 1, steps, UNKNOWN)
    lines = tuple("".join(traceback.format_exception(error)).splitlines()[-30:])
    return replace(report, error=f"{host}: a mistake in ddtree-ops: {type(error).__name__}: {error}", evidence=lines)


def _report(host: str, outcome: Outcome, exit_code: int, steps: Sequence[Step], serving: Serving) -> DeploymentReport:
    return DeploymentReport(
        host=host,
        outcome=outcome,
        exit_code=exit_code,
        release=None,
        previous=None,
        serving=serving.release,
        serving_known=serving.known,
        seconds=sum(step.seconds for step in steps),
        steps=tuple(steps),
    )
