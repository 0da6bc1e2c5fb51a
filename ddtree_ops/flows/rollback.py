"""Go back to an earlier release: choose -> switch -> wait -> smoke -> commit."""

from __future__ import annotations

from ddtree_ops.errors import DdtreeOpsError, UsageError
from ddtree_ops.fleet.state import Releases
from ddtree_ops.flows.golive import GoLive, server_of, serving_now
from ddtree_ops.flows.look import look_releases
from ddtree_ops.flows.progress import StepLog, Tell
from ddtree_ops.flows.wait import Server
from ddtree_ops.ports import Playbooks
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Serving
from ddtree_ops.report.failure import FailureReport


class Rollback:
    """One rollback of one host, to `wanted` or to the newest release that was good before the current one."""

    def __init__(self, server: Server, playbooks: Playbooks, wanted: str | None, tell: Tell) -> None:
        self._server = server
        self._playbooks = playbooks
        self._wanted = wanted
        self._tell = tell
        self._host = server.shell.host
        self._log = StepLog(self._host, tell, server.clock)
        self._previous: str | None = None
        self._target: str | None = None
        self._failure: FailureReport | None = None

    def run(self) -> DeploymentReport:
        """Never raises an expected error: the report carries it."""
        try:
            golive = self._choose()
        except DdtreeOpsError as error:
            return self._report(serving_now(self._server, error), error)
        try:
            golive.run()
        except DdtreeOpsError as error:
            self._failure = golive.failure
            return self._report(serving_now(self._server, error), error)
        return self._report(Serving(self._target))

    def _choose(self) -> GoLive:
        with self._log.step("look") as step:
            state = look_releases(self._server.shell)
            self._previous = state.current
            target = self._target = choose(state, self._wanted, self._host)
            step.text = f"from {state.current or 'none'} to {target}"
        server = server_of(self._server, state, target)
        return GoLive(server, self._playbooks, self._log, self._tell, target)

    def _report(self, serving: Serving, error: DdtreeOpsError | None = None) -> DeploymentReport:
        return DeploymentReport(
            host=self._host,
            outcome=Outcome.FAILED if error else Outcome.DEPLOYED,
            exit_code=error.exit_code if error else 0,
            release=self._target,
            previous=self._previous,
            serving=serving.release,
            serving_known=serving.known,
            seconds=self._log.seconds,
            steps=tuple(self._log.steps),
            error=error.message if error else None,
            hint=error.hint if error and not self._failure else None,
            evidence=error.evidence if error else (),
            failure=self._failure,
        )


def choose(state: Releases, wanted: str | None, host: str) -> str:
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
