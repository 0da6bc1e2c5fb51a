"""Deploy one host: look -> plan -> stage -> validate -> switch -> wait -> smoke -> commit.

On any failure after the switch: triage -> switch back -> wait -> report what serves now. Never raises an expected
error: the report carries it, so that one bad host doesn't hide the others.
"""

from __future__ import annotations

from collections.abc import Callable

from ddtree_ops.errors import DdtreeOpsError, Refused
from ddtree_ops.fleet.plan import Plan, make_plan
from ddtree_ops.fleet.release import Release
from ddtree_ops.flows import validate
from ddtree_ops.flows.golive import GoLive
from ddtree_ops.flows.look import look, preflight_findings
from ddtree_ops.flows.progress import StepLog, TaskNews, Tell
from ddtree_ops.flows.wait import Server
from ddtree_ops.flows.wayback import WayBack, good_release, serving_now
from ddtree_ops.ports import Playbooks, TaskResult
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Serving

ROLLED_BACK_EXIT = 8
PENDING_EXIT = 6


class Deploy:
    """One deploy of one host."""

    def __init__(self, server: Server, playbooks: Playbooks, release: Release, tell: Tell) -> None:
        self._server = server
        self._playbooks = playbooks
        self._release = release
        self._tell = tell
        self._host = server.shell.host
        self._log = StepLog(self._host, tell, server.clock)
        self._golive = GoLive(server, playbooks, self._log, tell, release.id)
        self._previous: str | None = None

    def run(
        self, *, dry_run: bool = False, full: bool = False, confirm: Callable[[Plan], bool] | None = None
    ) -> DeploymentReport:
        """Bring the host to its spec. `confirm` may refuse the plan; `full` stages and switches even without a change."""
        try:
            plan = self._look_and_plan()
            serving = plan.state.serving
            if plan.nothing_to_do and not full:
                return self._report(Outcome.NOTHING_TO_DO, 0, Serving(serving))
            if dry_run or (confirm is not None and not confirm(plan)):
                return self._report(Outcome.WOULD_CHANGE, PENDING_EXIT, Serving(serving))
            loading = plan.is_under_way and not full
            if not loading:
                self._stage()
                self._validate()
        except DdtreeOpsError as error:
            outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.FAILED
            return self._report(outcome, error.exit_code, serving_now(self._server, error), error)
        return self._go_live(plan, already_loading=loading)

    def _look_and_plan(self) -> Plan:
        with self._log.step("look") as step:
            state = look(self._server.shell, self._server.port)
            findings = preflight_findings(self._server.shell, self._release)
            step.text = f"current {state.current or 'none'}, unit {state.unit.active.value}"
        with self._log.step("plan") as step:
            plan = make_plan(self._host, self._release, state, findings)
            self._previous = good_release(state)
            if plan.errors:
                first = plan.errors[0]
                raise Refused(
                    f"{self._host}: {first.message}",
                    hint=first.fix,
                    evidence=tuple(f"{one.id}: {one.message}" for one in plan.findings[1:]),
                )
            step.text = "nothing to do" if plan.nothing_to_do else f"{len(plan.changes)} changes to {self._release.id}"
        return plan

    def _stage(self) -> None:
        with self._log.step("stage") as step:
            result = self._playbooks.run("deploy", self._host, self._release.role_variables(), self._tell_task)
            step.text = f"{len(result.tasks)} tasks, {result.changed} changed"

    def _validate(self) -> None:
        with self._log.step("validate") as step:
            step.text = validate.validate(self._server.shell, self._release.id)

    def _go_live(self, plan: Plan, *, already_loading: bool) -> DeploymentReport:
        try:
            self._golive.run(already_loading=already_loading)
        except DdtreeOpsError as error:
            return self._go_back(plan, error)
        return self._report(Outcome.DEPLOYED, 0, Serving(self._release.id))

    def _go_back(self, plan: Plan, error: DdtreeOpsError) -> DeploymentReport:
        """The new release failed: the former one comes back; where there is none, the unit is stopped."""
        target = self._previous if self._previous != self._release.id else None
        back = WayBack(self._server, self._playbooks, self._log, self._tell, plan.state).go(self._golive, target)
        if back.error is not None:
            text = f"{error.message}; and the way back failed: {back.error.message}"
            return self._report(Outcome.FAILED, error.exit_code, back.serving, DdtreeOpsError(text, hint=back.error.hint))
        if self._golive.restarted and target is not None:
            return self._report(Outcome.ROLLED_BACK, ROLLED_BACK_EXIT, back.serving, error)
        return self._report(Outcome.FAILED, error.exit_code, back.serving, error)

    def _tell_task(self, task: TaskResult) -> None:
        self._tell(TaskNews(self._host, task))

    def _report(
        self, outcome: Outcome, exit_code: int, serving: Serving, error: DdtreeOpsError | None = None
    ) -> DeploymentReport:
        failure = self._golive.failure if error else None
        return DeploymentReport(
            host=self._host,
            outcome=outcome,
            exit_code=exit_code,
            release=self._release.id,
            previous=self._previous,
            serving=serving.release,
            serving_known=serving.known,
            seconds=self._log.seconds,
            steps=tuple(self._log.steps),
            error=error.message if error else None,
            hint=error.hint if error and not failure else None,
            evidence=error.evidence if error else (),
            failure=failure,
        )
