"""What a lab host looks like after a fault."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.hosts.lab import Lab, LabError

PROGRAM = (Path(__file__).resolve().parent / "look_inside.py").read_text()
PORT = "30000"
PAUSE = 0.25


@dataclass(frozen=True)
class Found:
    """One look; the fields are those of look_inside.py."""

    links: Mapping[str, str]
    releases: tuple[str, ...]
    half_made: tuple[str, ...]
    armed: tuple[str, ...]
    lock_holders: tuple[str, ...]
    unit: Mapping[str, str]
    strays: tuple[str, ...]
    answer: str

    @property
    def serves(self) -> str | None:
        """The release that answers rightly now; it need not be the current one."""
        return (self.unit.get("release") or None) if "Paris" in self.answer else None

    def untidy(self) -> list[str]:
        """All that a finished deploy must not leave, in words."""
        release = self.serves
        links = [f"{name} -> {self.links.get(name)}" for name in ("current", "last-good") if self.links.get(name) != release]
        return [
            *(f"half made: {path}" for path in self.half_made),
            *(f"still armed: {name}" for name in self.armed),
            *(f"lock held by: {holder}" for holder in self.lock_holders),
            *(f"still running on the host: {command}" for command in self.strays),
            *(f"{link}, but {release} serves" for link in links),
            *([] if self.unit.get("UnitFileState") == "enabled" else [f"the unit is {self.unit.get('UnitFileState')}"]),
        ]


def look(lab: Lab, host: str, port: str = PORT) -> Found:
    """Look from inside, without the network. Raises LabError while the host is down."""
    shown: dict[str, Any] = json.loads(lab.sh(host, "python3", "-", port, stdin=PROGRAM))
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in shown.items()}
    return Found(**fields)


def until(lab: Lab, host: str, good: Callable[[Found], bool], seconds: float) -> Found:
    """Look again and again until it is good, or the time is up: the last look either way."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            found = look(lab, host)
            if good(found) or time.monotonic() > deadline:
                return found
        except LabError:
            if time.monotonic() > deadline:
                raise
        time.sleep(PAUSE)  # systemd on the host has nothing that we could wait for from outside
