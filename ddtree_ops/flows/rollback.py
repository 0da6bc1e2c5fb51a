"""Go back to an earlier release: lock -> choose -> arm and switch -> restart -> wait -> smoke -> commit.

One that was never committed has to pass the gate first, as in a deploy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError, Locked, Refused, UsageError
from ddtree_ops.fleet.drift import file_changes
from ddtree_ops.fleet.state import HostState, Releases, audit, parse_committed
from ddtree_ops.flows.attempt import Attempt, attempt, result_of
from ddtree_ops.flows.golive import Crew, GoLive
from ddtree_ops.flows.interrupted import interrupted_at, left_behind
from ddtree_ops.flows.look import look
from ddtree_ops.flows.mistake import mistake
from ddtree_ops.flows.progress import StepLog, Tell
from ddtree_ops.flows.server import Server
from ddtree_ops.flows.wayback import WayBack, server_of, serving_now
from ddtree_ops.ports import Playbooks
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Serving

if TYPE_CHECKING:
    from ddtree_ops.report.failure import FailureReport


class Rollback:
    """One rollback of one host, to `wanted` or to the latest release that was good before the current one.

    If that fails, what served before comes back.
    """

    def __init__(self, server: Server, playbooks: Playbooks, wanted: str | None, tell: Tell) -> None:
        self._server = server
        self._playbooks = playbooks
        self._wanted = wanted
        self._tell = tell
        self._host = server.shell.host
        self._log = StepLog(self._host, tell, server.clock)
        self._previous: str | None = None
        self._target: str | None = None
        self._good: tuple[str, ...] = ()
        self._failure: FailureReport | None = None

    def run(self, *, break_lock: bool = False) -> DeploymentReport:
        """Never raises an expected error: the report carries it."""
        try:
            with attempt(self._server.shell, self._server.audit, "rollback", force=break_lock) as made:
                report = self._locked(made)
                made.result |= result_of(report)
            return made.told(report)
        except DdtreeOpsError as error:
            return self._report(Outcome.FAILED, serving_now(self._server, error), error)
        except KeyboardInterrupt:
            to = f" --to {self._target}" if self._target else ""
            return interrupted_at(self._server, self._target, self._log.steps, f"`ddtree-ops rollback --host {self._host}{to}`")

    def _locked(self, made: Attempt) -> DeploymentReport:
        state = self._choose()
        target = str(self._target)
        if target == state.current == state.serving and state.dead_man is None:
            return self._report(Outcome.NOTHING_TO_DO, Serving(target))
        crew = Crew(self._playbooks, self._log, self._tell, made)
        golive = GoLive(server_of(self._server, state, target), crew, target, back_to=state.serving_here)
        try:
            golive.link("switch", arm=True)
            golive.restart_and_wait()
            golive.prove(gated=target not in self._good)
        except Locked as error:
            return self._beaten(self._report(Outcome.FAILED, serving_now(self._server, error), error))
        except DdtreeOpsError as error:
            self._failure = golive.failure
            return self._go_back(golive, WayBack(self._server, crew, state), state.serving, error)
        except Exception as error:  # noqa: BLE001 - as in a deploy
            way = WayBack(self._server, crew, state)
            return self._go_back(golive, way, state.serving, mistake(self._host, error))
        return self._report(Outcome.DEPLOYED, Serving(target))

    def _go_back(self, golive: GoLive, way: WayBack, former: str | None, error: DdtreeOpsError) -> DeploymentReport:
        back = way.go(golive, former, error)
        code, told = back.told(error, golive, former)
        report = self._report(Outcome.ROLLED_BACK if back.again else Outcome.FAILED, back.serving, told)
        return replace(self._beaten(report) if isinstance(back.error, Locked) else report, exit_code=code)

    def _beaten(self, report: DeploymentReport) -> DeploymentReport:
        return replace(report, hint=left_behind(self._server, self._log.steps))

    def _choose(self) -> HostState:
        with self._log.step("look") as step:
            state = look(self._server.shell, self._server.port, every_release=True)
            self._previous = state.current
            self._good = parse_committed(self._server.shell.run(audit()).stdout)
            self._target = choose(state, self._good, self._wanted, self._host)
            refuse_damaged(state, self._target, self._host)
            step.text = f"from {state.current or 'none'} to {self._target}"
        return state

    def _report(self, outcome: Outcome, serving: Serving, error: DdtreeOpsError | None = None) -> DeploymentReport:
        return DeploymentReport(
            host=self._host,
            outcome=outcome,
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


def refuse_damaged(state: HostState, target: str, host: str) -> None:
    """Raises Refused for a release whose files aren't as they were staged: what it would serve is anybody's guess."""
    damage = [change.what for change in file_changes(state.files.get(target))]
    if damage:
        raise Refused(
            f"{host}: release {target} isn't as it was staged ({', '.join(damage[:5])})",
            hint="deploy its spec again, which stages it anew, or choose another with --to",
        )


def choose(releases: Releases, good: Sequence[str], wanted: str | None, host: str) -> str:
    """The release to go to: `wanted` (a whole id or a prefix of one), else the latest that was good before the current.

    `good` are the releases that were committed, the latest first. Raises UsageError when there is none, or the prefix
    fits several.
    """
    ids = [manifest.id for manifest in releases.manifests]
    if wanted is None:
        found = next((one for one in good if one in ids and one != releases.current), None)
        if found is None:
            others = [one for one in ids if one != releases.current]
            hint = f"that was never good: --to {others[0]}" if others else f"ddtree-ops releases --host {host}"
            raise UsageError(f"{host}: no other release on this host was ever good", hint=hint)
        return found
    fitting = [one for one in ids if one == wanted] or [one for one in ids if one.startswith(wanted)]
    if len(fitting) != 1:
        what = "fits several releases" if fitting else "is no release on this host"
        raise UsageError(f"{host}: {wanted} {what}: {', '.join(fitting or ids) or 'none is staged'}")
    return fitting[0]
