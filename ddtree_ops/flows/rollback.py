"""Go back to an earlier release: choose -> switch -> wait -> smoke -> commit."""

from __future__ import annotations

import time
from typing import Any

from ddtree_ops.errors import DdtreeOpsError, UsageError
from ddtree_ops.fleet.state import HostState
from ddtree_ops.flows import smoke
from ddtree_ops.flows.look import look
from ddtree_ops.flows.progress import StepLog, TaskNews, Tell
from ddtree_ops.flows.switching import Switcher
from ddtree_ops.flows.wait import Server, wait_after
from ddtree_ops.ports import Playbooks, TaskResult
from ddtree_ops.report.deployment import DeploymentReport, Outcome
from ddtree_ops.report.failure import FailureReport


class Rollback:
    """One rollback of one host, to `wanted` or to the newest release that was good before the current one."""

    def __init__(self, server: Server, playbooks: Playbooks, wanted: str | None, tell: Tell) -> None:
        self._server = server
        self._playbooks = playbooks
        self._wanted = wanted
        self._tell = tell
        self._host = server.shell.host
        self._log = StepLog(self._host, tell)
        self._failure: FailureReport | None = None

    def run(self) -> DeploymentReport:
        """Never raises an expected error: the report carries it."""
        started = time.monotonic()
        target = previous = None
        error: DdtreeOpsError | None = None
        try:
            with self._log.step("look") as step:
                state = look(self._server.shell, self._server.spec.port)
                previous, target = state.current, choose(state, self._wanted, self._host)
                step.text = f"from {previous or 'none'} to {target}"
            self._switch(target)
        except DdtreeOpsError as caught:
            error = caught
        return DeploymentReport(
            host=self._host,
            outcome=Outcome.FAILED if error else Outcome.DEPLOYED,
            exit_code=error.exit_code if error else 0,
            release=target,
            previous=previous,
            serving=None if error else target,
            seconds=time.monotonic() - started,
            steps=tuple(self._log.steps),
            error=error.message if error else None,
            hint=error.hint if error else None,
            evidence=error.evidence if error else (),
            failure=self._failure,
        )

    def _switch(self, target: str) -> None:
        variables: dict[str, Any] = {"release_id": target, "service_port": self._server.spec.port}
        with self._log.step("switch") as step:
            before = Switcher(self._server, self._playbooks, self._tell_task).switch(variables)
            step.text = f"current -> {target}"
        with self._log.step("wait") as step:
            waited = wait_after(self._server, before, self._tell)
            self._failure = waited.failure
            step.text = f"ready after {waited.check(self._host):.1f} s"
        with self._log.step("smoke") as step:
            smoked = smoke.run(self._server)
            smoked.check(self._host)
            step.text = smoked.summary()
        with self._log.step("commit") as step:
            self._playbooks.run("commit", self._host, variables, self._tell_task)
            step.text = f"last good is {target}"

    def _tell_task(self, task: TaskResult) -> None:
        self._tell(TaskNews(self._host, task))


def choose(state: HostState, wanted: str | None, host: str) -> str:
    """The release to go to: `wanted` (a whole id or a prefix of one), else the last good one, else the one before.

    Raises UsageError when there is none, or the prefix fits several.
    """
    ids = [manifest.id for manifest in state.manifests]
    if wanted is None:
        others = [one for one in ids if one != state.current]
        if state.last_good in others:
            return str(state.last_good)
        if not others:
            raise UsageError(f"{host}: there is no other release to go back to", hint=f"ddtree-ops releases --host {host}")
        return others[0]
    fitting = [one for one in ids if one == wanted] or [one for one in ids if one.startswith(wanted)]
    if len(fitting) != 1:
        what = "fits several releases" if fitting else "is no release on this host"
        raise UsageError(f"{host}: {wanted} {what}: {', '.join(fitting or ids) or 'none is staged'}")
    return fitting[0]
