"""Collector `releases`: what is installed, what of it serves, how that is configured, and a deploy that waits for its commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ddtree_ops.exporter.absence import told
from ddtree_ops.exporter.catalogue import gpus, releases, speculation
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.releases import deadline, installed
from ddtree_ops.exporter.releases.installed import CURRENT, LAST_GOOD, Installed
from ddtree_ops.exporter.releases.settings import ServerSettings, read_settings
from ddtree_ops.exporter.target import Target
from ddtree_ops.fleet import places
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import UnitState

_MOST_KNOWN = 8


@dataclass
class ReleasesCollector:
    """A release never changes, so its settings are read once; so is the release of a run that was recorded."""

    target: Target
    wall: Callable[[], float] = time.time
    name: ClassVar[str] = "releases"
    period: ClassVar[float] = 15.0
    _settings: dict[str, ServerSettings] = field(default_factory=dict, init=False)
    _runs: dict[str, str] = field(default_factory=dict, init=False)

    def read(self) -> Sequence[Sample]:
        """Raises Unreachable, HostCommandFailed."""
        found = installed.read(self.target.shell)
        serving = {state: self._running(state, found) for state in self._units()}
        current = found.release(CURRENT)
        samples = [Sample(releases.COUNT, len(found.releases))]
        samples += self._roles(found, serving)
        ready: list[tuple[int | None, str | None]] = [
            (state.port, name) for state, name in serving.items() if state.serving and name
        ]
        samples += self._configured(ready or [(None, current)])
        return [*samples, *self._deadline(found)]

    def _units(self) -> list[UnitState]:
        names = tuple(map(systemctl.unit_name, self.target.ports()))
        if not names:
            return []
        text = self.target.shell.run(systemctl.show_all(names)).stdout
        return [state for block in text.split("\n\n") if (state := systemctl.parse_show(block)).port]

    def _running(self, state: UnitState, found: Installed) -> str | None:
        """The same run is asked about until its load has ended, and its record is there."""
        known = self._runs.get(state.invocation)
        if known is None or not state.main_pid:
            records = installed.boots(self.target.shell, state.port or 0) if state.main_pid else []
            known = installed.running(state, found, records)
            if known is not None and state.serving:
                self._runs = {**dict(list(self._runs.items())[-_MOST_KNOWN:]), state.invocation: known}
        return known if known in found.releases else None

    def _roles(self, found: Installed, serving: dict[UnitState, str | None]) -> Iterator[Sample]:
        for state, name in serving.items():
            if state.serving and name:
                yield Sample(releases.INFO, 1, (str(state.port), "serving", name))
        for role, link in (("current", CURRENT), ("last_good", LAST_GOOD)):
            if name := found.release(link):
                yield Sample(releases.INFO, 1, (self._port(name), role, name))

    def _configured(self, chosen: list[tuple[int | None, str | None]]) -> Iterator[Sample]:
        for port, name in chosen:
            settings = self._of(name) if name else None
            if settings is None:
                continue
            own = (str(port or settings.port or ""),)
            words = (settings.model, settings.draft_model, settings.algorithm, str(settings.tensor_parallel))
            yield Sample(releases.SETTINGS, 1, (*own, *words))
            if settings.budget is not None:
                yield Sample(speculation.BUDGET, settings.budget, own)
            if settings.block is not None:
                yield Sample(speculation.BLOCK, settings.block, own)
        needed = [settings.gpus for _, name in chosen if name and (settings := self._of(name))]
        if needed:
            yield Sample(gpus.EXPECTED, max(needed))

    def _port(self, release: str) -> str:
        settings = self._of(release)
        return str(settings.port) if settings and settings.port else ""

    def _of(self, release: str) -> ServerSettings | None:
        if release not in self._settings:
            settings = read_settings(told(self.target.shell, "cat", f"{places.RELEASES}/{release}/server.json"))
            if settings is None:
                return None  # asked again: it may be staged just now
            self._settings = {**dict(list(self._settings.items())[-_MOST_KNOWN:]), release: settings}
        return self._settings[release]

    def _deadline(self, found: Installed) -> Iterator[Sample]:
        if found.dead_man:
            shell = self.target.shell
            when = deadline.parse(told(shell, *deadline.ORDERS), shell.run(deadline.TIMER).stdout, self.wall())
            if when is not None:
                yield Sample(releases.DEADMAN, when)
