"""A tick as the exporter's samples of speculation, releases, drift, deploys, failures and the kernel log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ddtree_ops.exporter.catalogue import failures, releases, speculation
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.triage.kinds import Kind
from tests.monitoring.data.fleet import DRAFT, NEW, OLD
from tests.monitoring.data.scenario import PORT, START
from tests.monitoring.data.walk import LENGTHS, Tick

CAUSES = {
    "graph_token_count_mismatch": (
        "a captured graph has another token count than the tree",
        "capture graphs for budget + 1 tokens",
    ),
    "gpu_lost": ("GPU 3 fell off the bus", "drain the host, power-cycle it, then run the vendor's diagnosis"),
}


def speculation_samples(tick: Tick) -> Iterator[Sample]:
    """DDTREE's counters, while the server answers."""
    totals, budget = tick.totals, tick.host.budget
    yield Sample(speculation.BUDGET, budget, (PORT,))
    yield Sample(speculation.BLOCK, len(LENGTHS), (PORT,))
    if not tick.now.serving:
        return
    committed = sum(length * count for length, count in totals.lengths.items())
    requests = sum(totals.lengths.values())
    for metric, value in (
        (speculation.STEPS, round(totals.steps)),
        (speculation.ACCEPTED, committed - requests),
        (speculation.PROPOSED, requests * budget),
        (speculation.NODES, requests * (budget + 1)),
        (speculation.COMMITTED, committed),
        (speculation.FALLBACKS, round(totals.fallbacks)),
    ):
        yield Sample(metric, value, (PORT,))
    for part in ("draft", "build", "verify", "commit"):
        yield Sample(speculation.STEP_SECONDS, totals.seconds[part], (PORT, part))
    below = 0
    for length in LENGTHS:
        below += totals.lengths[length]
        yield Sample(speculation.LENGTH, below, (PORT,), "_bucket", f"{length}.0")
    yield Sample(speculation.LENGTH, below, (PORT,), "_bucket", "+Inf")
    yield Sample(speculation.LENGTH, below, (PORT,), "_count")
    yield Sample(speculation.LENGTH, committed, (PORT,), "_sum")


def release_samples(tick: Tick) -> Iterator[Sample]:
    """Releases, drift and deploys."""
    release, host = tick.now.release, tick.host
    good = OLD if release == NEW and tick.now.minute < 39 else release
    for role, name in (("serving", release), ("current", release), ("last_good", good)):
        yield Sample(releases.INFO, 1.0, (PORT, role, name))
    yield Sample(releases.SETTINGS, 1.0, (PORT, host.model, DRAFT, "DDTREE", "8"))
    yield Sample(releases.COUNT, 3.0)
    drifted = Counter(event.kind for event in tick.events if event.what == "drift")
    for what in ("file", "unit", "link", "process", "manifest", "other"):
        yield Sample(releases.DRIFT, drifted[what], (what,))
    yield Sample(releases.DRIFT_CHECKED, tick.time - tick.time % 600)
    if host.name == "ct200" and 30 <= tick.now.minute < 39:
        yield Sample(releases.DEADMAN, START + 50 * 60)
    yield from _deploys(tick)


def _deploys(tick: Tick) -> Iterator[Sample]:
    results = [("deploy", "ok"), ("deploy", "failed"), ("deploy", "rolled_back"), ("rollback", "ok")]
    events = [event for event in tick.events if event.what == "deploy"]
    for event, result in results:
        matching = [item for item in events if (item.kind, item.result) == (event, result)]
        yield Sample(releases.DEPLOYS, len(matching) + 1, (event, result))
        last = START + matching[-1].minute * 60 if matching else START - 200000.0
        yield Sample(releases.DEPLOY_LAST, last, (event, result))
    for event in ("deploy", "rollback"):
        seconds = [item.seconds for item in events if item.kind == event]
        yield Sample(releases.DEPLOY_SECONDS, seconds[-1] if seconds else 480.0, (event,))
    passed = not (events and events[-1].result == "rolled_back")
    yield Sample(releases.SMOKE, float(passed))
    for question in range(1, 5):
        yield Sample(releases.SMOKE_SECONDS, 0.4 + 0.3 * question, (str(question),))
    yield Sample(releases.GATE, 1.0)
    yield Sample(releases.GATE_LENGTH, 4.9 if tick.host.name == "ct200" else 5.8)


def failure_samples(tick: Tick) -> Iterator[Sample]:
    """What triage and the kernel log found until now."""
    found = [event for event in tick.events if event.what == "failure"]
    counts = Counter((event.kind, event.role) for event in found)
    for known in Kind:
        counts.setdefault((str(known), "root"), 0)
    for (kind, role), count in counts.items():
        yield Sample(failures.TOTAL, count, (PORT, kind, role))
    for kind, role in dict.fromkeys((event.kind, event.role) for event in found):
        same = [event for event in found if (event.kind, event.role) == (kind, role)]
        fingerprint = f"{sum(map(ord, kind)) * 2654435761 % 2**32:08x}"
        yield Sample(failures.LAST, START + same[-1].minute * 60, (PORT, fingerprint, kind, role))
        yield Sample(failures.COUNT, len(same), (PORT, fingerprint))
        if role == "root":
            yield Sample(failures.INFO, 1.0, (PORT, fingerprint, kind, *CAUSES[kind]))
    yield Sample(failures.LINES, 9000 + tick.now.minute * 140, (PORT,))
    yield Sample(failures.BEHIND, tick.time - 2, (PORT,))
    for event in tick.events:
        if event.what == "xid":
            yield Sample(failures.XID, 1.0, (event.gpu, event.kind))
            yield Sample(failures.XID_LAST, START + event.minute * 60, (event.gpu, event.kind))
    for victim in ("server", "other"):
        yield Sample(failures.OOM, float(victim == "other" and tick.host.name == "ct200" and tick.now.minute > 60), (victim,))
