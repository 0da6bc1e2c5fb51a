"""Services of the host, as systemd knows them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .running import Answer


@dataclass(frozen=True)
class Unit:
    """LoadState and ActiveState of systemctl(1); `unknown` where nobody answered."""

    load: str = "unknown"
    active: str = "unknown"


@dataclass(frozen=True)
class Units:
    """What `systemctl show` said of several units."""

    by_name: dict[str, Unit] = field(default_factory=dict)

    def get(self, name: str) -> Unit:
        return self.by_name.get(name, Unit())


def command(*names: str) -> tuple[str, ...]:
    """Show these units: one program for all of them."""
    return ("systemctl", "show", "--property=Id,LoadState,ActiveState", *names)


def read(answer: Answer) -> Units:
    """Blocks of `systemctl show`; nothing for a failure."""
    found = {}
    for block in answer.out.split("\n\n") if answer.status == 0 else ():
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        found[values.get("Id", "")] = Unit(values.get("LoadState", ""), values.get("ActiveState", ""))
    return Units(found)
