"""Controller mode: one sampler for each host of the inventory, over SSH, with the very collectors of a host's own exporter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.collector import Collector
from ddtree_ops.exporter.repeating import Repeating
from ddtree_ops.exporter.sampler import CLOSE_SECONDS, Sampler
from ddtree_ops.exporter.sight.identity import Identities, Identity
from ddtree_ops.exporter.snapshot import Snapshot
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.turns import Turns, Way
from ddtree_ops.exporter.workers import Workers
from ddtree_ops.ports import Clock

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host

REFRESH_SECONDS = 30.0
#: Threads for all hosts together; paramiko has one more for each connection.
READINGS_AT_ONCE = 64
#: Of all hosts together, whoever it is that connects.
CONNECTS_AT_ONCE = 8

Collect = Callable[[Target], Sequence[Collector]]
#: How a host is opened; whoever connects to it takes the semaphore, which all hosts share.
Open = Callable[["Host", threading.Semaphore], "Opened"]


@dataclass(frozen=True)
class Opened:
    """A way to a host that can be closed."""

    target: Target
    close: Callable[[], None]


class Observer:
    """Reads one host in the background from its beginning to close()."""

    def __init__(self, opened: Opened, collect: Collect, clock: Clock, workers: Workers, connects: Workers) -> None:
        self._opened = opened
        shell = opened.target.shell
        turns = Turns(shell if isinstance(shell, Way) else None, workers, connects)
        self._sampler = Sampler(collect(opened.target), clock, workers=workers, turns=turns)
        self._sampler.start()

    @property
    def target(self) -> Target:
        return self._opened.target

    def settled(self, seconds: float = 0.0) -> Snapshot:
        """What is known; at the beginning it waits so long until every collector has read once. None is left out."""
        return self._sampler.settled(seconds)

    def stop(self) -> None:
        """Begin no more readings. The connection goes, so that those which wait for it end."""
        self._sampler.stop()
        self._opened.close()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Read no more; what hangs isn't waited for beyond `seconds`."""
        self.stop()
        self._sampler.close(seconds)


class Observers:
    """The hosts that `hosts` names now; asked again every half minute, so that the inventory may change.

    An inventory that can't be read leaves things as they are. Of a host whose connection changed the former one is closed.
    """

    def __init__(
        self,
        hosts: Callable[[], Sequence[Host]],
        open_host: Open,
        collect: Collect,
        clock: Clock,
        seconds: float = REFRESH_SECONDS,
    ) -> None:
        self._hosts = hosts
        self._open = open_host
        self._collect = collect
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[object, Observer]] = {}
        self._identities = Identities()
        self._closing = threading.Event()
        self._workers, self._connects = Workers(READINGS_AT_ONCE, "reading"), Workers(CONNECTS_AT_ONCE, "connecting")
        self._places = threading.BoundedSemaphore(CONNECTS_AT_ONCE)  # others than these workers connect as well
        self._following = Repeating(
            self.refresh, seconds, "inventory", "the inventory can't be followed, so hosts stay as they were"
        )

    def start(self) -> None:
        """Raises InvalidInventory, UsageError: at the beginning there is nothing to fall back to."""
        self._following.start()

    def close(self) -> None:
        """Read no more."""
        self._closing.set()
        self._following.close(0.0)
        for workers in (self._connects, self._workers):
            workers.close()
        with self._lock:
            known, self._known = self._known, {}
        _close([observer for _, observer in known.values()])

    def of(self, host: str) -> Observer | None:
        """The observer of a host; None for one that isn't in the inventory."""
        with self._lock:
            return self._known[host][1] if host in self._known else None

    def identity(self, host: str) -> Identity:
        """What the inventory says of a host."""
        return self._identities.of(host)

    def snapshots(self) -> Mapping[str, Snapshot]:
        """What is known of each host, for the page."""
        with self._lock:
            known = dict(self._known)
        return {name: observer.settled() for name, (_, observer) in known.items()}

    def refresh(self) -> None:
        """Take the inventory as it is now. Raises DdtreeOpsError for one that can't be read."""
        hosts, gone = self._hosts(), list[Observer]()
        self._identities.update(hosts)
        try:
            with self._lock:
                if not self._closing.is_set():
                    self._change(hosts, gone)
        finally:
            _close(gone)

    def _change(self, hosts: Sequence[Host], gone: list[Observer]) -> None:
        wanted = {host.name: host for host in hosts}
        gone += [self._known.pop(name)[1] for name in list(self._known) if name not in wanted]
        for name, host in wanted.items():
            how = _connection(host)
            former = self._known.get(name)
            if former is None or former[0] != how:
                observer = Observer(self._open(host, self._places), self._collect, self._clock, self._workers, self._connects)
                self._known[name] = (how, observer)
                gone += [former[1]] if former is not None else []


def _close(observers: Sequence[Observer]) -> None:
    """All are told first: many hosts that hang take no longer than one."""
    for observer in observers:
        observer.stop()
    deadline = time.monotonic() + CLOSE_SECONDS
    for observer in observers:
        observer.close(max(0.0, deadline - time.monotonic()))


def _connection(host: Host) -> object:
    """What a change of means another connection; one that can't be is told by each reading."""
    try:
        return host.connection
    except DdtreeOpsError as error:
        return error.message
