"""The steps by which a staged release goes live; deploy, the way back and rollback all take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ddtree_ops.flows import smoke, triage
from ddtree_ops.flows.progress import StepLog, TaskNews, Tell
from ddtree_ops.flows.switching import restart
from ddtree_ops.flows.wait import Mark, Server, Waited, mark, wait_after, wait_running
from ddtree_ops.ports import Playbooks, TaskResult
from ddtree_ops.report.failure import FailureReport


class GoLive:
    """Takes one release of one host live. Its steps raise what went wrong; `failure` is then the triage of it.

    `restarted`: the unit was told to restart; before that, whatever ran still runs.
    """

    def __init__(self, server: Server, playbooks: Playbooks, log: StepLog, tell: Tell, release: str) -> None:
        self.server = server
        self._playbooks = playbooks
        self._log = log
        self._tell = tell
        self._release = release
        self.failure: FailureReport | None = None
        self.restarted = False

    def run(self, *, already_loading: bool = False) -> None:
        """Switch, wait, smoke, commit. `already_loading`: an earlier run was interrupted after its switch."""
        if already_loading:
            self.restarted = True
            self._wait("wait", wait_running)
        else:
            self.switch_and_wait("switch", "wait")
        self._smoke()
        self._commit()

    def switch_and_wait(self, switch: str, wait: str) -> None:
        """The two steps by these names; raises ServerDied, ServerStalled, PlaybookFailed, Unreachable."""
        with self._log.step(switch) as step:
            self.link()
            self.restarted = True
            before = restart(self.server)
            step.text = f"current -> {self._release}"
        self._wait(wait, lambda server, tell: wait_after(server, before, tell))

    def link(self) -> None:
        """Make the release current, without restarting anything."""
        self._play("switch")

    def _wait(self, name: str, wait: Callable[[Server, Tell], Waited]) -> None:
        with self._log.step(name) as step:
            waited = wait(self.server, self._tell)
            self.failure = waited.failure
            step.text = f"ready after {waited.check(self.server.shell.host):.1f} s"

    def _smoke(self) -> None:
        with self._log.step("smoke") as step:
            before: Mark = mark(self.server)
            smoked = smoke.run(self.server)
            if not smoked.ok:
                self.failure = triage.since(self.server, before)
            smoked.check(self.server.shell.host)
            step.text = smoked.summary()

    def _commit(self) -> None:
        with self._log.step("commit") as step:
            self._play("commit")
            step.text = f"last good is {self._release}"

    def _play(self, playbook: str) -> None:
        variables: Mapping[str, object] = {"release_id": self._release, "service_port": self.server.port}
        self._playbooks.run(playbook, self.server.shell.host, variables, self._tell_task)

    def _tell_task(self, task: TaskResult) -> None:
        self._tell(TaskNews(self.server.shell.host, task))
