"""ddtree-ops exporter --host/--group: controller mode, for small fleets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.errors import UsageError

if TYPE_CHECKING:
    import threading

    from ddtree_ops.cli.exporter_discovery import Told
    from ddtree_ops.exporter.observers import Observers, Opened
    from ddtree_ops.exporter.web.door import Door
    from ddtree_ops.fleet.inventory import Host

ONCE_SECONDS = 60.0


class FleetExporter:
    """The hosts that --host and --group name, as they stand in the inventory at any time. Raises UsageError without one."""

    def __init__(self, inventory: Path | None, hosts: tuple[str, ...], group: str | None, state: Path | None) -> None:
        if inventory is None:
            raise UsageError("--host and --group name hosts of an inventory", hint="give --inventory as well")
        self._inventory = inventory
        self._hosts = hosts
        self._group = group
        self._state = state

    def claimed(self) -> AbstractContextManager[None]:
        """The directory of --state, ours alone within. Raises UsageError if it can't be used."""
        from ddtree_ops.exporter.fleet_wiring import HOSTS
        from ddtree_ops.exporter.state_directory import claimed

        return nullcontext() if self._state is None else claimed(self._state, self._state / HOSTS)

    def serve(self, listen: str, web_config: Path | None, told: Told, ready: Callable[[tuple[str, int]], None]) -> None:
        """Until SIGTERM or Ctrl-C. Raises InvalidInventory, UsageError, and as door.opened() does."""
        from ddtree_ops.exporter.web.door import opened

        with opened(listen, web_config) as door:
            self._serve(door, told, ready)

    def _serve(self, door: Door, told: Told, ready: Callable[[tuple[str, int]], None]) -> None:
        from ddtree_ops.adapters.clock import SystemClock
        from ddtree_ops.exporter import fleet_wiring
        from ddtree_ops.exporter.app import serve
        from ddtree_ops.exporter.sampler import Sampler

        observers, sampler = self._observers(), Sampler(told.collectors, SystemClock())
        try:
            observers.start()
            sampler.start()
            told.start()
            paths = (*fleet_wiring.routes(observers, sampler, self._state), *told.routes)
            serve(door, paths, ready=ready, reread=lambda: _reread(told, observers))
        finally:
            told.close()
            sampler.close()
            observers.close()

    def once(self) -> None:
        """Print the exposition of one host. Raises UsageError for several: their families can't stand in one text."""
        from ddtree_ops.exporter.exposition import render

        observers = self._observers()
        try:
            observers.start()
            names = list(observers.snapshots())
            observer = observers.of(names[0]) if len(names) == 1 else None
            if observer is None:
                raise UsageError(f"--once prints one host, and these are {len(names)}", hint="give one --host HOST")
            click.echo(render(observer.settled(ONCE_SECONDS)), nl=False)
        finally:
            observers.close()

    def _observers(self) -> Observers:
        from ddtree_ops.adapters.clock import SystemClock
        from ddtree_ops.cli import targets
        from ddtree_ops.exporter import fleet_wiring
        from ddtree_ops.exporter.observers import Observers

        return Observers(
            lambda: targets.choose(targets.fleet(self._inventory), self._hosts, self._group),
            over_ssh,
            lambda target: fleet_wiring.remote_collectors(target, self._state),
            SystemClock(),
        )


def _reread(told: Told, observers: Observers) -> None:
    told.reread()
    observers.refresh()


def over_ssh(host: Host, connects: threading.Semaphore) -> Opened:
    """A host by SSH, which connects when it is first asked something."""
    from ddtree_ops.adapters.http import TunnelledHttp
    from ddtree_ops.adapters.ssh import SshShell
    from ddtree_ops.exporter.observers import Opened
    from ddtree_ops.exporter.remote import RemoteHttp, RemoteShell
    from ddtree_ops.exporter.target import Target

    inner = SshShell(host)
    shell = RemoteShell(inner, connects)
    return Opened(Target(shell, RemoteHttp(TunnelledHttp(inner), shell)), shell.close)
