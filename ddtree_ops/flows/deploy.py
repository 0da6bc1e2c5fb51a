"""Deploy one host: look -> plan -> stage -> validate -> switch -> wait -> smoke -> commit.

On any failure after the switch: triage -> switch back -> wait -> report what serves now. Never raises an expected
error: the report carries it, so that one bad host doesn't hide the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from ddtree_ops.errors import DdtreeOpsError, Refused, Unreachable
from ddtree_ops.fleet.hardware import HardwareProfile
from ddtree_ops.fleet.plan import Plan, make_plan
from ddtree_ops.fleet.release import Release
from ddtree_ops.flows import smoke, switching, validate
from ddtree_ops.flows import triage as triage_flow
from ddtree_ops.flows.look import look
from ddtree_ops.flows.progress import StepLog, TaskNews, Tell
from ddtree_ops.flows.switching import Switcher
from ddtree_ops.flows.wait import Mark, Server, Waited, mark, wait_after, wait_running
from ddtree_ops.ports import Playbooks, TaskResult
from ddtree_ops.report.deployment import DeploymentReport, Outcome
from ddtree_ops.report.failure import FailureReport

ROLLED_BACK_EXIT = 8
PENDING_EXIT = 6


class Deploy:
    """One deploy of one host."""

    def __init__(self, server: Server, playbooks: Playbooks, release: Release, hardware: HardwareProfile, tell: Tell) -> None:
        self._server = server
        self._playbooks = playbooks
        self._release = release
        self._hardware = hardware
        self._tell = tell
        self._host = server.shell.host
        self._log = StepLog(self._host, tell)
        self._started = time.monotonic()
        self._failure: FailureReport | None = None
        self._previous: str | None = None

    def run(
        self, *, dry_run: bool = False, full: bool = False, confirm: Callable[[Plan], bool] | None = None
    ) -> DeploymentReport:
        """Bring the host to its spec. `confirm` may refuse the plan; `full` stages and switches even without a change."""
        try:
            plan = self._look_and_plan()
            self._previous = plan.state.last_good or _serving(plan)
            if plan.nothing_to_do and not full:
                return self._report(Outcome.NOTHING_TO_DO, 0, plan.state.current)
            if dry_run or (confirm is not None and not confirm(plan)):
                return self._report(Outcome.WOULD_CHANGE, PENDING_EXIT, _serving(plan))
            loading = plan.is_loading and not full
            if not loading:
                self._stage()
                self._validate()
        except DdtreeOpsError as error:
            outcome = Outcome.REFUSED if isinstance(error, Refused) else Outcome.FAILED
            serving = None if isinstance(error, Unreachable) else self._serving_now()
            return self._report(outcome, error.exit_code, serving, error)
        return self._go_live(already_loading=loading)

    def _look_and_plan(self) -> Plan:
        with self._log.step("look") as step:
            state = look(self._server.shell, self._release.spec.port)
            step.text = f"current {state.current or 'none'}, unit {state.unit.active.value}"
        with self._log.step("plan") as step:
            plan = make_plan(self._host, self._release, self._hardware, state)
            if plan.errors:
                first = plan.errors[0]
                raise Refused(
                    f"{self._host}: {first.message}",
                    hint=first.fix,
                    evidence=tuple(f"{one.id}: {one.message}" for one in plan.findings),
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

    def _go_live(self, *, already_loading: bool) -> DeploymentReport:
        """`already_loading`: an earlier run was interrupted after its switch; take up where it was."""
        try:
            if already_loading:
                self._wait(wait_running)
            else:
                before = self._switch("switch", self._release.id)
                self._wait(lambda server, tell: wait_after(server, before, tell))
            self._smoke()
            self._commit()
        except DdtreeOpsError as error:
            return self._switch_back(error)
        return self._report(Outcome.DEPLOYED, 0, self._release.id)

    def _switch(self, name: str, release: str) -> Mark:
        with self._log.step(name) as step:
            variables = {**self._release.role_variables(), "release_id": release}
            before = Switcher(self._server, self._playbooks, self._tell_task).switch(variables)
            step.text = f"current -> {release}"
        return before

    def _wait(self, wait: Callable[[Server, Tell], Waited]) -> None:
        with self._log.step("wait") as step:
            waited = wait(self._server, self._tell)
            self._failure = waited.failure
            step.text = f"ready after {waited.check(self._host):.1f} s"

    def _smoke(self) -> None:
        with self._log.step("smoke") as step:
            before = mark(self._server)
            smoked = smoke.run(self._server)
            if not smoked.ok:
                self._failure = triage_flow.since(self._server, before)
            smoked.check(self._host)
            step.text = smoked.summary()

    def _commit(self) -> None:
        with self._log.step("commit") as step:
            self._playbooks.run("commit", self._host, self._release.role_variables(), self._tell_task)
            step.text = f"last good is {self._release.id}"

    def _switch_back(self, error: DdtreeOpsError) -> DeploymentReport:
        """The new release failed: bring the former one back, or stop where there is none."""
        target = self._previous if self._previous != self._release.id else None
        try:
            if target is None:
                with self._log.step("stop") as step:
                    switching.stop(self._server)
                    step.text = "no former release to go back to"
                return self._report(Outcome.FAILED, error.exit_code, None, error)
            before = self._switch("switch back", target)
            with self._log.step("wait again") as step:
                step.text = f"ready after {wait_after(self._server, before, self._tell).check(self._host):.1f} s"
        except DdtreeOpsError as second:
            both = DdtreeOpsError(f"{error.message}; and the way back failed: {second.message}", hint=second.hint)
            return self._report(Outcome.FAILED, error.exit_code, None, both)
        return self._report(Outcome.ROLLED_BACK, ROLLED_BACK_EXIT, target, error)

    def _serving_now(self) -> str | None:
        try:
            state = look(self._server.shell, self._release.spec.port)
        except DdtreeOpsError:
            return None
        return state.current if state.unit.serving else None

    def _tell_task(self, task: TaskResult) -> None:
        self._tell(TaskNews(self._host, task))

    def _report(
        self, outcome: Outcome, exit_code: int, serving: str | None, error: DdtreeOpsError | None = None
    ) -> DeploymentReport:
        return DeploymentReport(
            host=self._host,
            outcome=outcome,
            exit_code=exit_code,
            release=self._release.id,
            previous=self._previous,
            serving=serving,
            seconds=time.monotonic() - self._started,
            steps=tuple(self._log.steps),
            error=error.message if error else None,
            hint=error.hint if error and not self._failure else None,
            evidence=error.evidence if error else (),
            failure=self._failure if error else None,
        )


def _serving(plan: Plan) -> str | None:
    return plan.state.current if plan.state.unit.serving else None


# DESIGN section 9: with several hosts the highest-ranking of these that occurred.
RANKING = (1, 3, 5, 4, 8, 7, 9, 2, 6, 130)


def exit_code(reports: Iterable[DeploymentReport]) -> int:
    """One exit code for several hosts."""
    codes = {report.exit_code for report in reports} - {0}
    return next((code for code in RANKING if code in codes), max(codes, default=0))
