"""The host that collectors read: this one, or one over SSH; they can't tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from ddtree_ops.exporter.loopback import Loopback
from ddtree_ops.exporter.releases.settings import MOST_BYTES, read_settings
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Http, Shell
from ddtree_ops.units import systemctl

PORTS_SECONDS = 60.0
MOST_PORTS = 4  # of a host that are read: what the catalogue's bounds are made for


@dataclass
class Target:
    """A host with its shell and HTTP to its loopback; `loopback` is that, but for one question at a time."""

    shell: Shell
    http: Http
    monotonic: Callable[[], float] = time.monotonic
    loopback: Loopback = field(init=False)
    _all: tuple[int, ...] = field(default=(), init=False)
    _read_at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.loopback = Loopback(self.http, self.monotonic)

    @property
    def host(self) -> str:
        return self.shell.host

    def ports(self) -> tuple[int, ...]:
        """The ports that are read, whoever asks: the first MOST_PORTS of all_ports(). Raises as Shell.run does."""
        return self.all_ports()[:MOST_PORTS]

    def all_ports(self) -> tuple[int, ...]:
        """Ports of our server units that systemd has loaded, and the current release's: systemd forgets a unit that was stopped
        and disabled. By number; asked again after a minute. Raises as Shell.run does.
        """
        now = self.monotonic()
        if self._read_at is None or now - self._read_at >= PORTS_SECONDS:
            settings = read_settings(self.shell.run(_SETTINGS).stdout)
            current = {settings.port} if settings and settings.port else set()
            units = systemctl.parse_servers(self.shell.run(systemctl.servers()).stdout)
            loaded = {port for name in units if (port := systemctl.unit_port(name))}
            self._all = tuple(sorted(loaded | current))
            self._read_at = now
        return self._all

    def saw(self, ports: Collection[int]) -> None:
        """Ports that somebody has just seen: with a new one among them all are asked for anew, the next time."""
        if not frozenset(ports) <= frozenset(self._all):
            self._read_at = None

    def has(self, port: int) -> bool:
        """Whether it is one of all_ports(). One that was, a moment ago, is believed: whoever scrapes it waits for no systemd."""
        return port in self._all or port in self.all_ports()


_SETTINGS = Command(("cat", f"{places.ROOT}/current/server.json"), ok=frozenset({0, 1}), timeout=10.0, most_bytes=MOST_BYTES)
