"""Attempts in a host's audit log, and what collector `deploys` tells of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ddtree_ops.exporter.collectors.deploys import DeploysCollector
from tests.exporter.shells import HostFolder

WHO = {"user": "anna", "controller": "laptop", "pid": 1, "command": "deploy --host ct200"}
AT = 1_796_032_800.0  # 2026-11-30T10:00:00Z, which HostFolder.audit() writes


def deploy(outcome: str = "deployed", **more: Any) -> dict[str, Any]:
    return {**WHO, "event": "deploy", "outcome": outcome, "seconds": 12.5, **more}


def watching(host: HostFolder, state: Path | None = None, now: float = AT) -> DeploysCollector:
    """The collector, as it is after the exporter's start."""
    return DeploysCollector(host.target(), state, lambda: now)


def told(collector: DeploysCollector) -> dict[tuple[str, ...], float]:
    """All that isn't 0."""
    found = {(one.metric.name.removeprefix("ddtree_ops_"), *one.labels): one.value for one in collector.read()}
    return {key: value for key, value in found.items() if value or key[0] != "deploys_total"}


def counts(collector: DeploysCollector) -> dict[str, float]:
    return {"/".join(key[1:]): value for key, value in told(collector).items() if key[0] == "deploys_total"}
