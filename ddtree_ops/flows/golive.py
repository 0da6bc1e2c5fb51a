"""The steps by which a staged release goes live; deploy, the way back and rollback all take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddtree_ops.errors import ServerDied, ServerStopped
from ddtree_ops.flows import gate, smoke, triage
from ddtree_ops.flows.attempt import Attempt
from ddtree_ops.flows.converge import Progress, converge
from ddtree_ops.flows.progress import StepDetail, StepLog, TaskNews, Tell
from ddtree_ops.flows.server import Server, once_more
from ddtree_ops.flows.switching import restart
from ddtree_ops.flows.wait import Mark, Waited, mark, wait_after, wait_running
from ddtree_ops.ports import Playbooks, TaskResult
from ddtree_ops.units.systemctl import Active

if TYPE_CHECKING:
    from ddtree_ops.report.failure import FailureReport

# What smoke questions and the commit may take after the load, at least.
DEADMAN_MARGIN_SECONDS = 15


@dataclass(frozen=True)
class Crew:
    """What every step of one attempt needs besides the server."""

    playbooks: Playbooks
    log: StepLog
    tell: Tell
    attempt: Attempt


class GoLive:
    """Takes one release of one host live. Its steps raise what went wrong; `failure` is then the triage of it.

    `back_to`: where the dead-man goes. `restarted`: the unit was told to restart; before that, whatever ran still runs.
    `touched`: more than staging may have been done. `armed`: the dead-man is known to be armed.
    """

    def __init__(self, server: Server, crew: Crew, release: str, back_to: str | None = None) -> None:
        self.server = server
        self._crew = crew
        self._release = release
        self._back_to = back_to if back_to != release else None
        self._progress = Progress()
        self.failure: FailureReport | None = None
        self.restarted = False

    @property
    def armed(self) -> bool:
        return self._progress.armed

    @property
    def touched(self) -> bool:
        return self._progress.touched

    @property
    def reached(self) -> str:
        """The step of the playbook that went on last."""
        return self._progress.step

    def stage(self, variables: Mapping[str, Any]) -> None:
        """Stage alone, where the release has to be looked at before more is done with it."""
        with self._step("stage"):
            self._play("stage", variables)

    def converge(self, variables: Mapping[str, Any]) -> None:
        """Stage, validate, arm, switch; `variables` are the roles'."""
        self._crew.attempt.lock.check()
        everything = {**variables, **self._orders(), **self._deadman()}
        host = self.server.shell.host
        try:
            converge(self._crew.playbooks, host, everything, self._crew.log, self._crew.tell, self._progress)
        finally:
            self._note()

    def take_up(self) -> None:
        """An earlier run was interrupted after its restart: only wait."""
        self._progress.touched = self._progress.armed = self.restarted = True
        self._note()
        self._wait("wait", wait_running)

    def restart_and_wait(self, wait: str = "wait") -> None:
        """Raises ServerDied, ServerStalled, ServerStopped, Unreachable."""
        with self._step("restart") as step:
            self.restarted = True
            before = restart(self.server)
            step.text = f"current -> {self._release}"
        self._wait(wait, lambda server, tell: wait_after(server, before, tell))

    def prove(self, *, gated: bool = True) -> None:
        """Smoke, gate, commit. A release that was committed before is gone back to without the spec's gate (`gated` False)."""
        self._smoke()
        if gated:
            self._gate()
        self._commit()

    def link(self, name: str, *, arm: bool = False) -> None:
        """Make the release current, without restarting anything."""
        with self._step(name) as step:
            self._progress.touched |= arm
            try:
                self._play("switch", self._deadman() if arm else {})
            finally:
                self._note()
            step.text = f"current -> {self._release}"

    def disarm(self) -> None:
        """The deploy was undone; what the dead-man would do is done."""
        with self._step("disarm"):
            self._play("disarm", {})
            self._disarmed()

    def _wait(self, name: str, wait: Callable[[Server, Tell], Waited]) -> None:
        with self._step(name) as step:
            waited = wait(self.server, self._crew.tell)
            self._crew.attempt.lock.check()  # whoever took the lock may have done what we have seen
            self.failure = waited.failure
            try:
                step.text = f"ready after {waited.check(self.server.shell.host):.1f} s"
            except ServerDied:
                if not waited.rebooted:
                    self._check_stopped()
                raise

    def _check_stopped(self) -> None:
        """A unit that is down without a failure was stopped by somebody."""
        state = self.server.state()
        if state.active is Active.INACTIVE and state.result == "success":
            self.failure = None
            host = self.server.shell.host
            raise ServerStopped(
                f"{host}: somebody stopped {self.server.unit} while it was loading", hint=f"ddtree-ops deploy --host {host}"
            )

    def _smoke(self) -> None:
        with self._step("smoke") as step:
            before: Mark = once_more(lambda: mark(self.server))
            smoked = once_more(lambda: smoke.run(self.server))
            step.figures = smoked.figures()
            if not smoked.ok:
                self.failure = triage.since(self.server, before)
            smoked.check(self.server.shell.host)
            step.text = smoked.summary()

    def _gate(self) -> None:
        with self._step("gate") as step:
            before: Mark = once_more(lambda: mark(self.server))
            judged = gate.run(self.server)
            step.figures = judged.figures()
            if not judged.keeps:
                self.failure = triage.since(self.server, before)
            judged.check(self.server.shell.host)
            step.text = judged.summary()

    def _commit(self) -> None:
        with self._step("commit") as step:
            self._play("commit", {"service_keep": self.server.spec.runtime.keep, "service_audit": {"by": self._crew.attempt.by}})
            self._disarmed()
            step.text = f"last good is {self._release}"

    def _step(self, name: str) -> AbstractContextManager[StepDetail]:
        self._crew.attempt.lock.check()
        return self._crew.log.step(name)

    def _orders(self) -> dict[str, Any]:
        return {
            "release_id": self._release,
            "service_port": self.server.port,
            "service_lock_token": self._crew.attempt.lock.token,
            "service_by": self._crew.attempt.by,
        }

    @property
    def deadman_seconds(self) -> int:
        """From arming until the host goes back by itself: the drain of what runs, the load, and the questions after it."""
        spec = self.server.spec
        return spec.drain + spec.load_budget + max(DEADMAN_MARGIN_SECONDS, spec.load_budget // 10) + gate.longest_seconds(spec)

    def _deadman(self) -> dict[str, Any]:
        return {"service_deadman_s": self.deadman_seconds, "service_back_to": self._back_to or ""}

    def _play(self, playbook: str, variables: Mapping[str, Any]) -> None:
        host = self.server.shell.host
        self._crew.playbooks.run(playbook, host, {**self._orders(), **variables}, self._tell_task)

    def _note(self) -> None:
        """For the audit log, should the attempt end here."""
        if self.armed:
            left = f"uncommitted: goes back to {self._back_to or 'no server'} within {self.deadman_seconds} s"
            self._crew.attempt.result["dead_man"] = left

    def _disarmed(self) -> None:
        self._progress.armed = False
        self._crew.attempt.result.pop("dead_man", None)

    def _tell_task(self, task: TaskResult) -> None:
        self._progress.take(task)
        self._crew.tell(TaskNews(self.server.shell.host, task))
