"""What the launcher recorded of each boot: how long its segments took, and how it ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.absence import ENGLISH, checked
from ddtree_ops.exporter.catalogue import unit as catalogue
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.unit.boot_counts import BootCount
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command
from ddtree_ops.units.eta import Boot, Outcome, read_history
from ddtree_ops.units.phases import Phase

_MOST_KNOWN = 64  # ports that were used once, the newest last
_USUAL_OF = 5
_MOST_BYTES = 1 << 20  # fifty lines of less than a kilobyte
_SEGMENTS = tuple(prefix + phase for prefix in ("", "draft_") for phase in Phase)
_CURRENT = Command(("readlink", f"{places.ROOT}/current"), ok=frozenset({0, 1}), timeout=10.0, most_bytes=65536)
_NAMES = ("find", places.BOOTS, "-mindepth", "1", "-maxdepth", "1", "-name", "*.jsonl", "-printf", r"%f\n")
_FILES = Command((*ENGLISH, *_NAMES), ok=frozenset({0, 1}), timeout=10.0, most_bytes=_MOST_BYTES)


def history(port: int) -> Command:
    """The boots file of a port, messages in English."""
    return Command((*ENGLISH, "cat", f"{places.BOOTS}/{port}.jsonl"), ok=frozenset({0, 1}), timeout=10.0, most_bytes=_MOST_BYTES)


class BootsCollector:
    """`state` is where the counts are kept over restarts; None: only as long as this process lives.

    Which boots files there were at the first look is kept, too: whatever stands in another one has happened since.
    """

    name = "boots"
    period = 15.0

    def __init__(self, target: Target, state: Path | None) -> None:
        self._target = target
        self._file = None if state is None else state / "boots.json"
        self._counts: dict[str, BootCount] | None = None
        self._older: frozenset[str] | None = None
        self._unsaved = False

    def read(self) -> Sequence[Sample]:
        """Raises as Shell.run does; HostCommandFailed for a file that we may not read; OSError if counts can't be kept."""
        counts, older = self._remembered()
        release = self._target.shell.run(_CURRENT).stdout.strip().rpartition("/")[2]
        samples: list[Sample] = []
        for port in self._target.ports():
            boots = self._boots(port)
            count = counts.setdefault(str(port), BootCount())
            self._unsaved |= count.take(boots, past=str(port) in older)
            samples += _samples(str(port), boots, release, count)
        if self._unsaved:
            self._keep(counts, older)
            self._unsaved = False
        return samples

    def _boots(self, port: int) -> tuple[Boot, ...]:
        done = checked(self._target.host, self._target.shell.run(history(port)))
        return read_history(done.stdout.splitlines())

    def _remembered(self) -> tuple[dict[str, BootCount], frozenset[str]]:
        if self._counts is None:
            self._counts, self._older = ({}, None) if self._file is None else _read(self._file)
        if self._older is None:
            names = checked(self._target.host, self._target.shell.run(_FILES)).stdout.split()
            self._older = frozenset(name.removesuffix(".jsonl") for name in names[-_MOST_KNOWN:])
            self._unsaved = True
        return self._counts, self._older

    def _keep(self, counts: dict[str, BootCount], older: frozenset[str]) -> None:
        if self._file is not None:
            ports = {port: count.to_data() for port, count in counts.items()}
            state_file.write(self._file, {"ports": ports, "older": sorted(older)})


def _read(file: Path) -> tuple[dict[str, BootCount], frozenset[str] | None]:
    """A damaged file is set aside. Raises OSError."""
    try:
        found = state_file.read(file)
    except ValueError as error:
        print(f"{error}; counting begins anew", file=sys.stderr, flush=True)  # noqa: T201
        state_file.set_aside(file)
        found = None
    ports, older = (found or {}).get("ports"), (found or {}).get("older")
    if not isinstance(ports, dict) or not isinstance(older, list):
        return {}, None
    counts = {str(port): BootCount.from_data(data) for port, data in list(ports.items())[-_MOST_KNOWN:]}
    return counts, frozenset(map(str, older[-_MOST_KNOWN:]))


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
    return median(boot.seconds for boot in chosen[-_USUAL_OF:]) if chosen else None
