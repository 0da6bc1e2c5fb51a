"""Where things are on a host; roles/*/vars/main.yml and the controller's fleet/places.py say the same."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Places:
    """The directories of one host; other ones than the defaults only in tests."""

    root: Path = Path("/opt/ddtree")
    state: Path = Path("/var/lib/ddtree")
    units: Path = Path("/etc/systemd/system")
    volatile: Path = Path("/run/systemd")

    @property
    def releases(self) -> Path:
        return self.root / "releases"

    @property
    def program(self) -> Path:
        """Where the dead-man's own program lies: outside of every release."""
        return self.root / "host"

    @property
    def lock(self) -> Path:
        return self.state / "lock"

    @property
    def audit(self) -> Path:
        return self.state / "audit.jsonl"

    @property
    def deadman(self) -> Path:
        return self.state / "deadman.json"

    @property
    def drop_in_bases(self) -> tuple[Path, ...]:
        """Where `systemctl edit` and `systemctl set-property`, with and without --runtime, put a unit's drop-ins."""
        names = ("system", "system.control")
        return tuple(base / name for base in (self.units.parent, self.volatile) for name in names)

    def linked(self, name: str) -> str | None:
        """The release that the link `current` or `last-good` names."""
        try:
            return (self.root / name).readlink().name
        except OSError:
            return None

    def unit(self, port: int) -> Path:
        return self.units / f"ddtree-server@{port}.service"
