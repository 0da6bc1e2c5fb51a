"""The one place where collectors and paths are put together: a new one is one line here."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.adapters.local_http import LocalHttp
from ddtree_ops.exporter import passes
from ddtree_ops.exporter.app import own_routes
from ddtree_ops.exporter.collector import Collector
from ddtree_ops.exporter.collectors.boots import BootsCollector
from ddtree_ops.exporter.collectors.deploys import DeploysCollector
from ddtree_ops.exporter.collectors.drift import DriftCollector
from ddtree_ops.exporter.collectors.gpus import GpusCollector
from ddtree_ops.exporter.collectors.health import HealthCollector
from ddtree_ops.exporter.collectors.journal import JournalCollector
from ddtree_ops.exporter.collectors.kernel import KernelCollector
from ddtree_ops.exporter.collectors.releases import ReleasesCollector
from ddtree_ops.exporter.collectors.server import ServerCollector
from ddtree_ops.exporter.collectors.unit import UnitCollector
from ddtree_ops.exporter.page.board import Board
from ddtree_ops.exporter.page.reports import stored
from ddtree_ops.exporter.page.routes import StatusPage
from ddtree_ops.exporter.pass_through import passed_through
from ddtree_ops.exporter.passes import Passes
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.web.routes import Route
from ddtree_ops.ports import Shell


def collectors(
    target: Target, state: Path | None, run: Callable[[Shell, Path], Passes] = passes.children, *, nvml: bool = True
) -> tuple[Collector, ...]:
    """All collectors of a host. `state` is a directory that is ours to write; None: nothing is remembered over a restart, and
    nothing counted from journals. `run`: how their passes are run; `nvml`: the host is this one, so its library can be asked.
    """
    found: tuple[Collector, ...] = (
        UnitCollector(target),
        BootsCollector(target, state),
        ServerCollector(target),
        HealthCollector(target),
        ReleasesCollector(target),
        DriftCollector(target),
        DeploysCollector(target, state),
        GpusCollector(target, nvml=nvml),
    )
    if state is None:
        return found
    own = run(target.shell, state)
    return (*found, JournalCollector(target, state, own), KernelCollector(target, state, own))


def routes(target: Target, sampler: Sampler, state: Path | None) -> tuple[Route, ...]:
    """All paths that are served for this host."""
    servers = Route("/server/<port>/<page>", partial(passed_through, target), waits=True)
    board = Board(lambda: (Observed(target.host, sampler.snapshot()),), time.time)
    board.start()
    return (*own_routes(sampler), servers, *StatusPage(board, stored(lambda _host: state)).routes())


def local_target() -> Target:
    """This machine."""
    return Target(LocalShell(), LocalHttp())
