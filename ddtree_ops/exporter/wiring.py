"""The one place where collectors and paths are put together: a new one is one line here."""

from __future__ import annotations

import time
from pathlib import Path

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.adapters.local_http import LocalHttp
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
from ddtree_ops.exporter.pass_through import PassThrough
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.sight.readings import Observed
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.web.routes import Route


def collectors(target: Target, state: Path | None) -> tuple[Collector, ...]:
    """All collectors of this host. `state` is a directory that is ours to write; None: nothing is remembered over a restart."""
    told = (JournalCollector(target, state), KernelCollector(target, state)) if state else ()
    return (*anywhere(target, state), GpusCollector(target, nvml=True), *told)


def anywhere(target: Target, state: Path | None) -> tuple[Collector, ...]:
    """Those that are the same for a host that is reached over SSH."""
    return (
        UnitCollector(target),
        BootsCollector(target, state),
        ServerCollector(target),
        HealthCollector(target),
        ReleasesCollector(target),
        DriftCollector(target),
        DeploysCollector(target, state),
    )


def routes(target: Target, sampler: Sampler, state: Path | None) -> tuple[Route, ...]:
    """All paths that are served for this host."""
    through = PassThrough(target)
    servers = (Route("/server/<port>/metrics", through.metrics), Route("/server/<port>/health", through.health))
    board = Board(lambda: (Observed(target.host, sampler.snapshot()),), time.time)
    board.start()
    return (*own_routes(sampler), *servers, *StatusPage(board, stored(lambda _host: state)).routes())


def local_target() -> Target:
    """This machine."""
    return Target(LocalShell(), LocalHttp())
