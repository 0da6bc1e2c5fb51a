"""Make a staged release the current one. Each step may be cut off and repeated; until the link moves, the old one starts."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import credentials, durable, units
from .fence import HostError
from .places import Places


@dataclass(frozen=True)
class Switched:
    """Where `current` led before, and whether anything was changed. `aside`: a directory that lay in the link's place."""

    before: str | None
    changed: bool
    aside: Path | None = None


def port_of(places: Places, release: str) -> int:
    """The port that a release serves on. Raises HostError for what is no staged release."""
    settings = durable.read(places.releases / release / "server.json") or {}
    port: Any = settings.get("port")
    if "/" in release or not is_port(port):
        raise HostError(f"there is no release {release} in {places.releases}: stage it with deploy.yml, or choose another")
    return int(port)


def is_port(value: object) -> bool:
    return type(value) is int and 0 < value < 65536


def check(places: Places, release: str, port: int) -> None:
    """Raises HostError for a release that isn't here or serves on another port."""
    own = port_of(places, release)
    if own != port:
        raise HostError(f"release {release} serves on port {own}, not {port}")


def switch(places: Places, release: str, port: int) -> Switched:
    """Unit text, link, what starts at boot. Nothing is restarted. Raises HostError, OSError."""
    check(places, release, port)
    folder, before = places.releases / release, places.linked("current")
    text = durable.read_text(folder / "ddtree-server@.service")
    if text is None:
        raise HostError(f"release {release} has no readable unit text: stage it again with deploy.yml, or choose another")
    changed = credentials.take(folder, wanted=before == release)
    rewritten = durable.write(places.unit(port), text)
    changed |= rewritten | _without_drop_ins(places, port)
    aside = durable.put_aside(places.root / "current")
    changed |= durable.link(places.root / "current", f"releases/{release}")
    changed |= _boot_with(places, port)
    units.reload_if_needed(units.name(port))
    units.systemctl("reset-failed", units.name(port), check=False)  # starts before this one must not count against it
    return Switched(before, changed, aside)


def _without_drop_ins(places: Places, port: int) -> bool:
    """Those of this very unit: the release's unit text is all that counts. What changes every unit of the kind is the host's."""
    found = [base / f"{units.name(port)}.d" for base in places.drop_in_bases]
    there = [path for path in found if path.is_dir()]
    for path in there:
        shutil.rmtree(path)
    return bool(there)


def _boot_with(places: Places, port: int) -> bool:
    """This unit starts at boot and no other one of ours: both would want all GPUs. What runs is left alone."""
    wants = places.units / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    changed = durable.link(wants / units.name(port), str(places.unit(port)))
    for path in wants.glob("ddtree-server@*.service"):
        if path.name != units.name(port):
            changed |= durable.remove(path)
    return changed


def clear_others(places: Places, port: int) -> tuple[str, ...]:
    """Stop the servers on other ports for good and remove their unit files; their names."""
    found = units.others(places, port)
    for other in found:
        units.systemctl("disable", "--now", units.name(other), seconds=units.STOP_SECONDS, check=False)
        durable.remove(places.unit(other))
        _without_drop_ins(places, other)
        units.systemctl("reset-failed", units.name(other), check=False)
    if found:
        units.systemctl("daemon-reload")
    return tuple(units.name(other) for other in found)
