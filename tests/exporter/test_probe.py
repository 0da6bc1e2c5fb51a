"""Controller mode: one host's exposition within its time, hosts that can't be reached, an inventory that changes."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.exporter.catalogue import releases
from ddtree_ops.exporter.fleet_wiring import observed
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.observers import CONNECTS_AT_ONCE, Observers, Opened
from ddtree_ops.exporter.probe import TIMEOUT_HEADER, routes, seconds_of
from ddtree_ops.exporter.sampler import Sampler
from ddtree_ops.exporter.target import Target
from ddtree_ops.exporter.web.messages import Request, Response
from ddtree_ops.exporter.web.routes import Routes
from ddtree_ops.fleet.inventory import Host
from ddtree_ops.fleet.mistakes import Place
from ddtree_ops.fleet.nodes import Entry, ScalarNode
from ddtree_ops.fleet.variables import HostVariables
from tests.exporter.lines import LIST, Line, shell
from tests.exporter.shells import Silent


@dataclass
class Reader:
    """A collector that says what it is told to."""

    target: Target
    name: str = "releases"
    period: float = 60.0
    gate: threading.Event = field(default_factory=threading.Event)

    def read(self) -> Sequence[Sample]:
        self.target.shell.run(LIST)
        assert self.gate.wait(120)
        return (Sample(releases.COUNT, 3),)


def host_at(name: str, address: str = "192.0.2.1") -> Host:
    """Of an inventory that says nothing else."""
    place = Place(Path("hosts.yml"), 1)
    entry = Entry("ansible_host", place, ScalarNode(address, address, place))
    return Host(name, (), place, HostVariables({"ansible_host": entry}))


class Fleet:
    """Hosts, their lines, and observers over them."""

    def __init__(self, *names: str) -> None:
        self.hosts = [host_at(name) for name in names]
        self.lines: dict[str, list[Line]] = {}
        self.connects = set[threading.Semaphore]()
        self.gate = threading.Event()
        self.gate.set()
        self.broken = False
        self.unreachable: set[str] = set()
        self.full: set[str] = set()
        self.observers = Observers(self._named, self._open, self._collect, SystemClock())

    def _named(self) -> Sequence[Host]:
        if self.broken:
            raise InvalidInventory("hosts.yml:1: no")
        return list(self.hosts)

    def _open(self, host: Host, connects: threading.Semaphore) -> Opened:
        self.connects.add(connects)
        line = Line(reachable=host.name not in self.unreachable)
        line.host = host.name
        self.lines.setdefault(host.name, []).append(line)
        remote = shell(line)
        return Opened(Target(remote, Silent()), remote.close)

    def _collect(self, target: Target) -> Sequence[Any]:
        if target.host in self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return (Reader(target, gate=self.gate), Reader(target, "drift", gate=self.gate))

    def ask(self, path: str, query: dict[str, str] | None = None, seconds: str = "5") -> Response:
        route, params = Routes(*routes(self.observers)).find(path)
        return route.handler(Request(path, query or {}, params, {TIMEOUT_HEADER: seconds}))


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    found = Fleet("ct200", "b300")
    yield found
    found.gate.set()
    found.observers.close()


def body(response: Response) -> str:
    assert isinstance(response.body, bytes)
    return response.body.decode()


def test_a_probe_waits_for_the_first_reading_and_then_never(fleet: Fleet) -> None:
    fleet.observers.start()
    got = fleet.ask("/probe", {"host": "ct200"})
    assert (got.status, got.content_type.split(";")[0]) == (200, "text/plain")
    assert "ddtree_ops_releases_staged 3.0" in body(got)
    fleet.gate.clear()  # a reading would wait now
    assert "ddtree_ops_releases_staged 3.0" in body(fleet.ask("/probe", {"host": "ct200"}))
    assert len(fleet.lines["ct200"]) == 1


def test_a_host_that_hangs_is_told_as_failed_in_time(fleet: Fleet) -> None:
    fleet.gate.clear()
    fleet.observers.start()
    begun = time.monotonic()
    text = body(fleet.ask("/probe", {"host": "ct200"}, seconds="0.8"))
    assert 0.3 <= time.monotonic() - begun < 60  # the reading itself would end after 120
    assert 'ddtree_ops_collector_success{collector="releases"} 0.0' in text
    assert "releases_staged " not in text


def test_a_host_that_cannot_be_reached_is_told_as_failed_and_hides_no_other(fleet: Fleet) -> None:
    fleet.unreachable = {"b300"}
    fleet.observers.start()
    text = body(fleet.ask("/probe", {"host": "b300"}))
    assert text.count("} 0.0") >= 2 and 'ddtree_ops_collector_success{collector="drift"} 0.0' in text
    assert "ddtree_ops_releases_staged 3.0" in body(fleet.ask("/probe", {"host": "ct200"}))
    seen = {one.host: one for one in observed(fleet.observers)}
    assert "no way" in str(seen["b300"].problem)
    assert seen["ct200"].problem is None and seen["ct200"].snapshot is not None


@pytest.mark.parametrize(("query", "word"), [({}, "give"), ({"host": "nobody"}, "no such host"), ({"host": ""}, "no such host")])
def test_who_is_not_in_the_inventory(fleet: Fleet, query: dict[str, str], word: str) -> None:
    fleet.observers.start()
    got = fleet.ask("/probe", query)
    assert got.status == 404 and word in body(got)
    assert fleet.ask("/hosts/nobody/server/30000/metrics").status == 404


def test_servers_of_a_host_are_passed_through(fleet: Fleet) -> None:
    fleet.observers.start()
    assert fleet.ask("/hosts/ct200/server/30000/metrics").status == 404
    observer = fleet.observers.of("ct200")
    assert observer is not None
    observer.target._all, observer.target._read_at = (30000,), time.monotonic()
    for path in ("metrics", "health"):
        assert fleet.ask(f"/hosts/ct200/server/30000/{path}").status == 503, "nothing listens there"


def test_the_inventory_may_change(fleet: Fleet) -> None:
    fleet.observers.start()
    former = fleet.observers.of("b300")
    fleet.hosts = [host_at("ct200", "192.0.2.2"), host_at("new")]
    fleet.observers.refresh()
    assert fleet.observers.of("b300") is None and fleet.observers.of("new") is not None
    assert [line.closed for line in (*fleet.lines["ct200"], *fleet.lines["b300"])] == [True, False, True]
    assert former is not None
    fleet.broken = True
    with pytest.raises(InvalidInventory):
        fleet.observers.refresh()
    assert set(fleet.observers.snapshots()) == {"ct200", "new"}


def test_so_many_connect_at_once_and_no_more(fleet: Fleet) -> None:
    fleet.observers.start()
    (connects,) = fleet.connects  # one for both hosts, which nobody takes here
    assert [connects.acquire(blocking=False) for _ in range(CONNECTS_AT_ONCE + 1)] == [True] * CONNECTS_AT_ONCE + [False]


def test_a_directory_that_cannot_be_made_leaves_the_others_and_the_following(fleet: Fleet) -> None:
    fleet.observers = Observers(fleet._named, fleet._open, fleet._collect, SystemClock(), 0.02)
    fleet.observers.start()
    fleet.hosts = [host_at("ct200"), host_at("full")]
    fleet.full = {"full"}
    deadline = time.monotonic() + 60
    while "full" not in fleet.lines and time.monotonic() < deadline:
        time.sleep(0.01)
    assert set(fleet.observers.snapshots()) == {"ct200"}
    assert fleet.lines["b300"][0].closed, "which is in the inventory no more"
    fleet.full.clear()
    while fleet.observers.of("full") is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert fleet.observers.of("full") is not None


def test_hosts_that_hang_end_together(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """No reading is waited for while another host hasn't been told to end."""
    told: list[bool] = []
    wait = Sampler.close

    def waiting(sampler: Sampler, _seconds: float) -> None:
        told.append(all(line.closed for lines in fleet.lines.values() for line in lines))
        wait(sampler, 0.0)

    monkeypatch.setattr(Sampler, "close", waiting)
    fleet.gate.clear()
    fleet.hosts += [host_at(f"h{number}") for number in range(4)]
    fleet.observers.start()
    fleet.observers.close()
    assert told == [True] * 6


@pytest.mark.parametrize(
    ("said", "seconds"), [("10", 9.5), ("0.5", 0.25), ("", 9.5), ("nan", 9.5), ("inf", 9.5), ("-3", 0), ("1e9", 60)]
)
def test_the_time_of_a_scrape(said: str, seconds: float) -> None:
    assert seconds_of(Request("/probe", headers={TIMEOUT_HEADER: said})) == seconds
