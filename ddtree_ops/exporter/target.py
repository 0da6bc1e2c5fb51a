"""The host that collectors read: this one, or one over SSH; they can't tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ddtree_ops.exporter.loopback import Loopback
from ddtree_ops.exporter.releases.settings import MOST_BYTES, read_settings
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Http, Shell
from ddtree_ops.units import systemctl

PORTS_SECONDS = 60.0


@dataclass
class Target:
    """A host with its shell and HTTP to its loopback; `loopback` is that, but for one question at a time."""

    shell: Shell
    http: Http
    monotonic: Callable[[], float] = time.monotonic
    loopback: Loopback = field(init=False)
    _ports: tuple[int, ...] = field(default=(), init=False)
    _read_at: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.loopback = Loopback(self.http, self.monotonic)

    @property
    def host(self) -> str:
        return self.shell.host

    def ports(self) -> tuple[int, ...]:
        """Ports of our server units that systemd has loaded, and the current release's: systemd forgets a unit that was stopped
        and disabled. Asked again after a minute. Raises as Shell.run does.
        """
        now = self.monotonic()
        if self._read_at is None or now - self._read_at >= PORTS_SECONDS:
            settings = read_settings(self.shell.run(_SETTINGS).stdout)
            current = {settings.port} if settings and settings.port else set()
            units = systemctl.parse_servers(self.shell.run(systemctl.servers()).stdout)
            loaded = {port for name in units if (port := systemctl.unit_port(name))}
            self._ports = tuple(sorted(loaded | current))
            self._read_at = now
        return self._ports

    def has(self, port: int) -> bool:
        """Whether it is one of ports(). One that was, a moment ago, is believed: whoever scrapes it waits for no systemd."""
        return port in self._ports or port in self.ports()


_SETTINGS = Command(("cat", f"{places.ROOT}/current/server.json"), ok=frozenset({0, 1}), timeout=10.0, most_bytes=MOST_BYTES)
