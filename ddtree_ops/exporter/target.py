"""The host that collectors read: this one, or one over SSH; they can't tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ddtree_ops.ports import Command, Http, Shell
from ddtree_ops.units.systemctl import SERVERS

PORTS_SECONDS = 60.0


@dataclass
class Target:
    """A host with its shell and HTTP to its loopback."""

    shell: Shell
    http: Http
    monotonic: Callable[[], float] = time.monotonic
    _ports: tuple[int, ...] = field(default=(), init=False)
    _read_at: float | None = field(default=None, init=False)

    @property
    def host(self) -> str:
        return self.shell.host

    def ports(self) -> tuple[int, ...]:
        """Ports of our server units on the host, also of stopped ones; asked again after a minute. Raises as Shell.run does."""
        now = self.monotonic()
        if self._read_at is None or now - self._read_at >= PORTS_SECONDS:
            self._ports = _parse(self.shell.run(_LIST).stdout)
            self._read_at = now
        return self._ports


_LIST = Command(("systemctl", "list-units", "--all", "--plain", "--no-legend", "--no-pager", "--full", SERVERS))


def _parse(text: str) -> tuple[int, ...]:
    """`list-units` prints the unit first; a failed one has a mark of its own before it unless --plain is given (systemctl(1))."""
    ports = set()
    for line in text.splitlines():
        name = (line.split() or [""])[0]
        number = name.removeprefix("ddtree-server@").removesuffix(".service")
        if number.isascii() and number.isdigit() and 0 < int(number[:6]) < 65536:
            ports.add(int(number[:6]))
    return tuple(sorted(ports))
