"""What the launcher recorded of each boot: how long its segments took, and how it ended."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter import state_file
from ddtree_ops.exporter.catalogue import unit as catalogue
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.unit.boot_counts import BootCount
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command
from ddtree_ops.units.eta import Boot, Outcome, read_history
from ddtree_ops.units.phases import Phase

MOST_PORTS = 4
_MOST_KNOWN = 64  # ports that were used once, the newest last
_USUAL_OF = 5
_MOST_BYTES = 1 << 20  # fifty lines of less than a kilobyte
_SEGMENTS = tuple(prefix + phase for prefix in ("", "draft_") for phase in Phase)
_CURRENT = Command(("readlink", f"{places.ROOT}/current"), ok=frozenset({0, 1}), timeout=10.0, most_bytes=65536)


def history(port: int) -> Command:
    """The boots file of a port, messages in English."""
    argv = ("env", "LC_ALL=C.UTF-8", "cat", f"{places.BOOTS}/{port}.jsonl")
    return Command(argv, ok=frozenset({0, 1}), timeout=10.0, most_bytes=_MOST_BYTES)


class BootsCollector:
    """`state` is where the counts are kept over restarts; None: only as long as this process lives."""

    name = "boots"
    period = 15.0

    def __init__(self, target: Target, state: Path | None) -> None:
        self._target = target
        self._file = None if state is None else state / "boots.json"
        self._counts: dict[str, BootCount] | None = None

    def read(self) -> Sequence[Sample]:
        """Raises as Shell.run does; HostCommandFailed for a file that we may not read; OSError if counts can't be kept."""
        counts = self._remembered()
        release = self._target.shell.run(_CURRENT).stdout.strip().rpartition("/")[2]
        samples: list[Sample] = []
        changed = False
        for port in self._target.ports()[:MOST_PORTS]:
            boots = self._boots(port)
            count = counts.setdefault(str(port), BootCount())
            changed |= count.take(boots)
            samples += _samples(str(port), boots, release, count)
        if changed:
            self._keep(counts)
        return samples

    def _boots(self, port: int) -> tuple[Boot, ...]:
        done = self._target.shell.run(history(port))
        if done.exit_code and "No such file" not in done.stderr:
            raise HostCommandFailed(f"{self._target.host}: boots of port {port}: {done.stderr.strip()[-120:]}")
        return read_history(done.stdout.splitlines())

    def _remembered(self) -> dict[str, BootCount]:
        if self._counts is None:
            self._counts = {} if self._file is None else _read(self._file)
        return self._counts

    def _keep(self, counts: dict[str, BootCount]) -> None:
        if self._file is not None:
            state_file.write(self._file, {"ports": {port: count.to_data() for port, count in counts.items()}})


def _read(file: Path) -> dict[str, BootCount]:
    """A damaged file is set aside. Raises OSError."""
    try:
        found = state_file.read(file)
    except ValueError as error:
        print(f"{error}; counting begins anew", file=sys.stderr, flush=True)  # noqa: T201
        state_file.set_aside(file)
        found = None
    ports = (found or {}).get("ports")
    if not isinstance(ports, dict):
        return {}
    return {str(port): BootCount.from_data(data) for port, data in list(ports.items())[-_MOST_KNOWN:]}


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
