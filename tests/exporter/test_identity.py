"""Hardware and model of a fleet's hosts are what the inventory says now, not what it said at the start."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.exporter.fleet_wiring import observed
from ddtree_ops.exporter.observers import Observers, Opened
from ddtree_ops.exporter.target import Target
from ddtree_ops.fleet.inventory import Host, load_fleet
from ddtree_ops.fleet.mistakes import Mistake
from ddtree_ops.fleet.spec import ServingSpec
from tests.exporter.lines import Line, shell
from tests.exporter.shells import Silent

OF_A = "a: {ddtree_hardware: b300-8x, ddtree_serving: {port: 30000, model: {path: /models/kimi}}}"
OTHER_A = OF_A.replace("b300-8x", "rtx-pro-6000-8x").replace("kimi", "qwen")


class Inventory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.write(OF_A)
        self.observers = Observers(lambda: load_fleet(path).hosts, _opened, lambda _: (), SystemClock())

    def write(self, *hosts: str) -> None:
        self.path.write_text(f"gpus: {{hosts: {{{', '.join(hosts)}}}}}\n")

    def seen(self) -> dict[str, tuple[str | None, str | None]]:
        return {one.host: (one.hardware, one.model) for one in observed(self.observers)}


def _opened(_host: Host, _connects: threading.Semaphore) -> Opened:
    remote = shell(Line())
    return Opened(Target(remote, Silent()), remote.close)


@pytest.fixture
def inventory(tmp_path: Path) -> Iterator[Inventory]:
    found = Inventory(tmp_path / "hosts.yml")
    found.observers.start()
    yield found
    found.observers.close()


def test_a_host_that_is_added(inventory: Inventory) -> None:
    inventory.write(OF_A, OTHER_A.replace("a:", "b:"))
    inventory.observers.refresh()
    assert inventory.seen() == {"a": ("b300-8x", "kimi"), "b": ("rtx-pro-6000-8x", "qwen")}


def test_a_host_that_is_changed_keeps_its_connection(inventory: Inventory) -> None:
    former = inventory.observers.of("a")
    inventory.write(OTHER_A)
    inventory.observers.refresh()
    assert inventory.seen() == {"a": ("rtx-pro-6000-8x", "qwen")}
    assert inventory.observers.of("a") is former is not None


def test_what_cannot_be_understood_is_not_told(inventory: Inventory) -> None:
    inventory.write(OF_A.replace("b300-8x", "b300").replace("/models/kimi", "[]"))
    inventory.observers.refresh()
    assert inventory.seen() == {"a": (None, None)}


def test_a_spec_that_did_not_change_is_not_read_again(inventory: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    read, load = list[str](), Host._read_serving

    def counted(host: Host) -> tuple[ServingSpec | None, tuple[Mistake, ...]]:
        read.append(host.name)
        return load(host)

    monkeypatch.setattr(Host, "_read_serving", counted)
    inventory.write(OF_A, OTHER_A.replace("a:", "b:"))
    inventory.observers.refresh()
    inventory.observers.refresh()
    assert read == ["b"]
    assert inventory.seen()["a"] == ("b300-8x", "kimi")
