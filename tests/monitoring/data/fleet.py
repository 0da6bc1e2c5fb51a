"""The two hosts of the scenario."""

from __future__ import annotations

from ddtree_ops.units.phases import Phase
from tests.monitoring.data.scenario import Event, Host, Moment, Stretch

MODEL = "kimi-k2.6"
DRAFT = "kimi-k2.6-dflash"
OLD, NEW, OTHER = "torch29-8b2c41d0", "torch29-c07e93aa", "torch29-5d19e6f2"


def _serving(release: str, load: float, acceptance: float, queued: float = 0.0, fallback_ratio: float = 0.004) -> Moment:
    return Moment(0, Phase.SERVING, "active", release, load, acceptance, queued, fallback_ratio)


def _load(release: str, gpus_seen: int = 8) -> Moment:
    return Moment(0, Phase.WEIGHTS, "activating", release, gpus_seen=gpus_seen)


def _down(release: str, unit: str, gpus_seen: int = 8) -> Moment:
    return Moment(0, None, unit, release, gpus_seen=gpus_seen)


CT200 = Host(
    name="ct200",
    hardware="rtx-pro-6000-8x",
    model=MODEL,
    gpu_name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
    gpu_bytes=97887 * 2**20,
    power_limit=600.0,
    capacity=2600.0,
    budget=22,
    stretches=(
        Stretch(0, _serving(OLD, 0.5, 4.1)),
        Stretch(30, _down(NEW, "inactive")),
        Stretch(31, _load(NEW)),
        Stretch(38, _serving(NEW, 0.6, 4.9)),
        Stretch(70, _serving(NEW, 0.97, 4.8, queued=42), before=0.6),
        Stretch(95, _down(NEW, "activating")),
        Stretch(96, _load(NEW)),
        Stretch(103, _serving(NEW, 0.65, 4.9)),
        Stretch(130, _serving(NEW, 0.0, 0.0)),
        Stretch(150, _serving(NEW, 0.7, 4.9)),
    ),
    events=(
        Event(39, "deploy", "deploy", result="ok", seconds=540),
        Event(95, "failure", "graph_token_count_mismatch"),
        Event(95, "failure", "peer_rank_failed", role="consequence"),
        Event(112, "failure", "request_error", role="request"),
        Event(168, "drift", "file"),
    ),
)
B300 = Host(
    name="b300",
    hardware="b300-8x",
    model=MODEL,
    gpu_name="NVIDIA B300 SXM6 AC",
    gpu_bytes=275040 * 2**20,
    power_limit=1100.0,
    capacity=6200.0,
    budget=64,
    stretches=(
        Stretch(0, _serving(OTHER, 0.55, 5.8)),
        Stretch(60, _serving(OTHER, 0.6, 4.2, fallback_ratio=0.22)),
        Stretch(85, _serving(OTHER, 0.6, 5.8)),
        Stretch(150, _down(OTHER, "activating", 7)),
        Stretch(151, _load(OTHER, 7), usual=6.0),
        Stretch(153, _down(OTHER, "activating", 7)),
        Stretch(154, _load(OTHER, 7), usual=6.0, stalls=0.31),
    ),
    events=(
        Event(20, "deploy", "deploy", result="rolled_back", seconds=812),
        Event(21, "deploy", "rollback", result="ok", seconds=95),
        Event(149.5, "xid", "79", gpu="3"),
        Event(150, "failure", "gpu_lost"),
        Event(150, "failure", "peer_rank_failed", role="consequence"),
        Event(153, "failure", "gpu_lost"),
    ),
)
HOSTS = (CT200, B300)
