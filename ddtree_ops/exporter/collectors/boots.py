"""What the launcher recorded of each boot: how long its segments took, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.absence import told
from ddtree_ops.exporter.catalogue import unit as catalogue
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.unit.boot_counts import BootCount
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command
from ddtree_ops.units.eta import Boot, Outcome, median, read_history
from ddtree_ops.units.phases import Phase

_MOST_KNOWN = 64  # ports that were used once, the newest last
_USUAL_OF = 5
_SEGMENTS = tuple(prefix + phase for prefix in ("", "draft_") for phase in Phase)
_CURRENT = Command(("readlink", f"{places.ROOT}/current"), ok=frozenset({0, 1}), timeout=10.0, most_bytes=65536)
_NAMES = ("find", places.BOOTS, "-mindepth", "1", "-maxdepth", "1", "-name", "*.jsonl", "-printf", r"%f\n")


class BootsCollector:
    """`state` is where the counts are kept over restarts; None: only as long as this process lives.

    What stands at the first look in a boots file counts for nothing, so that a lost state doesn't look like boots; whatever
    stands in a file that wasn't there then has happened since. `problem`: why they couldn't be kept the last time.
    """

    name = "boots"
    period = 15.0

    def __init__(self, target: Target, state: Path | None) -> None:
        self._target = target
        self._file = None if state is None else state / "boots.json"
        self._counts: dict[str, BootCount] | None = None
        self._unsaved = False
        self.problem: str | None = None

    def read(self) -> Sequence[Sample]:
        """Raises as Shell.run does; HostCommandFailed for a file that we may not read; OSError for a state that we may not."""
        counts = self._remembered()
        release = self._target.shell.run(_CURRENT).stdout.strip().rpartition("/")[2]
        samples: list[Sample] = []
        for port in self._target.ports():
            boots = read_history(told(self._target.shell, "cat", f"{places.BOOTS}/{port}.jsonl").splitlines())
            count = counts.setdefault(str(port), BootCount())
            self._unsaved |= count.take(boots)
            samples += _samples(str(port), boots, release, count)
        if self._unsaved and self._file is not None:
            data = {"ports": {port: asdict(count) for port, count in counts.items()}}
            self.problem = state_file.kept(self._file, data)
            self._unsaved = self.problem is not None
        return samples

    def _remembered(self) -> dict[str, BootCount]:
        if self._counts is None and self._file is not None:
            self._counts = state_file.load(self._file, _from_data, lambda _: None)
        if self._counts is None:
            names = [name.removesuffix(".jsonl") for name in told(self._target.shell, *_NAMES).split()]
            self._counts = {name: BootCount(known=None) for name in names[-_MOST_KNOWN:]}
            self._unsaved = True
        return self._counts


def _from_data(data: dict[str, Any]) -> dict[str, BootCount]:
    return {port: BootCount.from_data(count) for port, count in list(data["ports"].items())[-_MOST_KNOWN:]}


def _samples(port: str, boots: Sequence[Boot], release: str, count: BootCount) -> Iterator[Sample]:
    for outcome in Outcome:
        yield Sample(catalogue.BOOTS, count.totals[outcome], (port, outcome))
    usual = _usual(boots, release)
    if usual is not None:
        yield Sample(catalogue.LOAD_USUAL, usual, (port,))
    if boots:
        yield Sample(catalogue.BOOT_SECONDS, boots[-1].seconds, (port,))
        for segment in _SEGMENTS:
            seconds = [taken for name, taken in boots[-1].segments if name == segment]
            if seconds:
                yield Sample(catalogue.BOOT_SEGMENT, sum(seconds), (port, segment))


def _usual(boots: Sequence[Boot], release: str) -> float | None:
    ready = [boot for boot in boots if boot.outcome is Outcome.READY]
    chosen = [boot for boot in ready if boot.release == release] or ready
    return median([boot.seconds for boot in chosen[-_USUAL_OF:]]) if chosen else None
