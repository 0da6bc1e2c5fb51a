"""Deploy one host: look, plan, lock, look again, models, stage, validate, arm, switch, restart, wait, smoke, gate, commit.

On any failure after the switch: triage -> switch back -> wait -> report what serves now. Never raises an expected
error: the report carries it, so that one bad host doesn't hide the others. Where nothing differs, nothing is locked.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError, Locked, PlaybookFailed, Refused
from ddtree_ops.fleet.finding import Finding, Severity, Waiver
from ddtree_ops.fleet.look import Look
from ddtree_ops.fleet.plan import Plan
from ddtree_ops.fleet.release import Release
from ddtree_ops.flows.attempt import Attempt, attempt, note, result_of
from ddtree_ops.flows.interrupted import left_behind
from ddtree_ops.flows.judgement import judge_staged, judged_plan, leaves_open, refuse
from ddtree_ops.flows.look import look_and_find
from ddtree_ops.flows.mistake import mistake
from ddtree_ops.flows.progress import StepLog, Tell
from ddtree_ops.flows.server import Server
from ddtree_ops.flows.wayback import WayBack, good_release, serving_now
from ddtree_ops.ports import Playbooks
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Serving, WaiverUsed

if TYPE_CHECKING:  # what is only needed to change a host is loaded then: most looks end with nothing to do
    from ddtree_ops.flows.golive import GoLive
    from ddtree_ops.report.failure import FailureReport

PENDING_EXIT = 6


class Deploy:
    """One deploy of one host."""

    def __init__(self, server: Server, playbooks: Playbooks, release: Release, tell: Tell, today: date | None = None) -> None:
        self._server = server
        self._playbooks = playbooks
        self._release = release
        self._tell = tell
        self._host = server.shell.host
        self._log = StepLog(self._host, tell, server.clock)
        self._today = today or date.today()
        self._seen: Look | None = None
        self._waived: dict[str, Waiver] = {}
        self._previous: str | None = None
        self._failure: FailureReport | None = None

    def run(
        self,
        *,
        dry_run: bool = False,
        full: bool = False,
        confirm: Callable[[Plan], bool] | None = None,
        break_lock: bool = False,
    ) -> DeploymentReport:
        """Bring the host to its spec. `confirm` may refuse the plan; `full` stages and switches even without a change."""
        try:
            plan = self._look_and_plan("look")
        except DdtreeOpsError as error:
            return self._noted(self._refused(error))
        try:
            if plan.nothing_to_do and not full:
                return self._noted(self._report(Outcome.NOTHING_TO_DO, 0, Serving(plan.state.serving)))
            if dry_run or (confirm is not None and not confirm(plan)):
                return self._report(Outcome.WOULD_CHANGE, PENDING_EXIT, Serving(plan.state.serving))
            with ExitStack() as stack:
                with self._log.step("lock") as step:
                    held = attempt(self._server.shell, self._server.audit, "deploy", force=break_lock)
                    made = stack.enter_context(held)
                    step.text = f"as {made.by}"
                report = self._locked(made, full=full)
            return made.told(report)
        except DdtreeOpsError as error:
            return self._refused(error)

    def _noted(self, report: DeploymentReport) -> DeploymentReport:
        """An attempt that never came to hold the host, in the controller's own log."""
        note(self._server.audit, "deploy", self._host, result_of(report))
        return report

    def _locked(self, made: Attempt, *, full: bool) -> DeploymentReport:
        """What was seen before we had the lock may have changed since."""
        plan = self._look_and_plan("look again")
        if plan.nothing_to_do and not full:
            report = self._report(Outcome.NOTHING_TO_DO, 0, Serving(plan.state.serving))
        else:
            self._check_models()
            report = self._change(plan, made, take_up=plan.is_under_way and not full)
        made.result |= result_of(report, tuple((one.what, one.before, one.after) for one in plan.changes))
        return report

    def _look_and_plan(self, name: str) -> Plan:
        with self._log.step(name) as step:
            seen = look_and_find(self._server.shell, self._release)
            state = seen.state
            step.text = f"current {state.current or 'none'}, unit {state.unit.active.value}"
        with self._log.step("plan") as step:
            plan = judged_plan(self._server.shell, self._release, seen, self._today)
            self._note_waivers(plan.findings)
            refuse(self._host, plan.findings)
            self._seen = seen
            self._previous = good_release(state)
            number = len(plan.changes)
            step.text = f"{number} change{'s' * (number != 1)} to {self._release.id}" if number else "nothing to do"
            if warnings := sum(one.severity is Severity.WARNING and one.waived is None for one in plan.findings):
                step.text += f", {warnings} warning{'s' * (warnings != 1)}"
            if plan.waived:
                step.text += f", waived: {', '.join(one.id for one in plan.waived)}"
        return plan

    def _check_models(self) -> None:
        """Every file against the manifests that the spec names, before anything is changed; seconds once they are known."""
        if not self._release.inputs.model_manifests:
            return
        from ddtree_ops.flows.model_check import check_models

        with self._log.step("models") as step:
            step.text = check_models(self._server.shell, self._server.clock, self._release, self._tell)

    def _change(self, plan: Plan, made: Attempt, *, take_up: bool) -> DeploymentReport:
        from ddtree_ops.flows.golive import Crew, GoLive

        crew = Crew(self._playbooks, self._log, self._tell, made)
        golive = GoLive(self._server, crew, self._release.id, self._previous)
        try:
            if take_up:
                golive.take_up()
            else:
                self._converge(golive, plan)
                golive.restart_and_wait()
            golive.prove()
        except Locked as error:  # whoever has the lock now decides what becomes of the host
            return self._beaten(self._report(Outcome.FAILED, error.exit_code, serving_now(self._server, error), error))
        except DdtreeOpsError as error:
            self._failure = golive.failure
            return self._go_back(golive, WayBack(self._server, crew, plan.state), error)
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not leave the host to the dead-man
            return self._go_back(golive, WayBack(self._server, crew, plan.state), mistake(self._host, error))
        return self._report(Outcome.DEPLOYED, 0, Serving(self._release.id))

    def _converge(self, golive: GoLive, plan: Plan) -> None:
        from ddtree_ops.flows import converge, validate

        try:
            variables = {**self._release.role_variables(), "release_repair": plan.repair}
            if leaves_open(plan):
                golive.stage(variables)
                variables["release_repair"] = False
                self._judge_staged()
            golive.converge(variables)
        except PlaybookFailed:
            if golive.reached == converge.VALIDATE:
                validate.validate(self._server.shell, self._release.id)  # SGLang's own words, as a refusal
            raise

    def _judge_staged(self) -> None:
        """What no source here could tell, before anything but staging is done."""
        if self._seen is None:
            return
        with self._log.step("judge") as step:
            try:
                found = judge_staged(self._server.shell, self._release, self._seen, self._today)
            except DdtreeOpsError as error:  # the deploy was to go on without it, too
                step.text = f"the staged source can't be read: {error.message}"
                return
            self._note_waivers(found)
            refuse(self._host, found)
            step.text = "by the staged source"

    def _note_waivers(self, findings: tuple[Finding, ...]) -> None:
        self._waived |= {one.id: one.waived for one in findings if one.waived is not None}

    def _go_back(self, golive: GoLive, way: WayBack, error: DdtreeOpsError) -> DeploymentReport:
        """The new release failed: the former one comes back; where there is none, the unit is stopped."""
        if not golive.touched:  # nothing but staging was done
            return self._refused(error)
        target = self._previous if self._previous != self._release.id else None
        back = way.go(golive, target, error)
        code, told = back.told(error, golive, target)
        report = self._report(Outcome.ROLLED_BACK if back.again else Outcome.FAILED, code, back.serving, told)
        return self._beaten(report) if isinstance(back.error, Locked) else report

    def _beaten(self, report: DeploymentReport) -> DeploymentReport:
        """The lock was taken from us."""
        return replace(report, hint=left_behind(self._server, self._log.steps))

    def _refused(self, error: DdtreeOpsError) -> DeploymentReport:
        outcome = Outcome.REFUSED if isinstance(error, Refused | Locked) else Outcome.FAILED
        return self._report(outcome, error.exit_code, serving_now(self._server, error), error)

    def _report(
        self, outcome: Outcome, exit_code: int, serving: Serving, error: DdtreeOpsError | None = None
    ) -> DeploymentReport:
        failure = self._failure if error else None
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
            waivers=tuple(WaiverUsed(name, one.reason, one.until.isoformat()) for name, one in self._waived.items()),
        )
