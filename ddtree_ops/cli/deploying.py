"""The deploy of one host as a rollout's job: its connection, its flow, and its report also when it is interrupted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ddtree_ops.adapters.playbook import WORKERS, AnsiblePlaybooks
from ddtree_ops.cli import targets
from ddtree_ops.fleet.inventory import Host
from ddtree_ops.fleet.release import Release
from ddtree_ops.flows.deploy import Deploy
from ddtree_ops.flows.interrupted import interrupted_at
from ddtree_ops.flows.rollout import Turn
from ddtree_ops.report.deployment import DeploymentReport


class Deploying:
    """Call it with a host's turn. `hosts` has the release of each."""

    def __init__(
        self,
        inventory: Path,
        hosts: Mapping[str, tuple[Host, Release]],
        *,
        workers: int | None,
        full: bool,
        dry_run: bool,
        break_lock: bool,
    ) -> None:
        self.hosts = hosts
        self._playbooks = AnsiblePlaybooks(inventory, workers or WORKERS)
        self._full = full
        self._dry_run = dry_run
        self._break_lock = break_lock

    def __call__(self, turn: Turn) -> DeploymentReport:
        host, release = self.hosts[turn.host]
        with targets.server(host) as server:
            deploy = Deploy(server, self._playbooks, release, turn.tell)
            try:
                return deploy.run(dry_run=self._dry_run, full=self._full, confirm=turn.confirm, break_lock=self._break_lock)
            except KeyboardInterrupt:
                return interrupted_at(server, release.id, turn.steps)
            finally:
                self._playbooks.leave(turn.host)

    def interrupt(self) -> None:
        """End the playbooks that run."""
        self._playbooks.interrupt()

    def begin(self, hosts: Sequence[str]) -> None:
        """These hosts go on together and soon need the same playbook: let them have one run of it."""
        for host in hosts:
            self._playbooks.enter(host)
