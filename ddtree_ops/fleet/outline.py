"""The few facts of a serving spec by which its server is found, read without the rest of it.

A host whose spec somebody is editing still serves what was deployed before, and must still be scraped; so a mistake elsewhere in
the spec hides nothing here. And no pydantic: a long-running exporter reads this.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from ddtree_ops.fleet.merge import MergedSpec
from ddtree_ops.fleet.mistakes import Mistake
from ddtree_ops.fleet.nodes import Entry, MapNode, ScalarNode
from ddtree_ops.fleet.templates import has_marks

# As in spec.py, which imports pydantic; a test holds that they are the same.
DEFAULT_PORT = 30000
DEFAULT_LISTEN = "127.0.0.1"
PORTS = range(1024, 55536)


@dataclass(frozen=True, slots=True)
class Outline:
    """Where a server listens and what it serves. `model` is the last part of the model's path, None where it can't be read."""

    port: int
    listen: str
    model: str | None

    @property
    def is_wide(self) -> bool:
        """Whether other machines can connect to it."""
        return self.listen != "localhost" and not ipaddress.ip_address(self.listen).is_loopback


def read_outline(variables: Mapping[str, Entry], mistakes: list[Mistake]) -> Outline | None:
    """The outline of a host that has a spec; None, with the reason in `mistakes`, where the server can't be found by it."""
    merged = MergedSpec(variables, mistakes)
    if not merged.usable:
        return None
    port = _port(merged, mistakes)
    listen = _listen(merged, mistakes)
    return None if port is None or listen is None else Outline(port, listen, _model(merged))


def _port(merged: MergedSpec, mistakes: list[Mistake]) -> int | None:
    entry = merged.root.get("port")
    if entry is None:
        return DEFAULT_PORT
    value = entry.value.value if isinstance(entry.value, ScalarNode) else None
    if isinstance(value, int) and value in PORTS:
        return int(value)
    mistakes.append(Mistake(entry.place, merged.key(("port",)), f"expected a whole number from {PORTS[0]} to {PORTS[-1]}"))
    return None


def _listen(merged: MergedSpec, mistakes: list[Mistake]) -> str | None:
    entry = merged.root.get("listen")
    if entry is None:
        return DEFAULT_LISTEN
    value = entry.value.value if isinstance(entry.value, ScalarNode) else None
    try:
        if isinstance(value, str) and (value == "localhost" or ipaddress.ip_address(value)):
            return value
    except ValueError:
        pass
    mistakes.append(Mistake(entry.place, merged.key(("listen",)), "expected an IP address such as 127.0.0.1, or localhost"))
    return None


def _model(merged: MergedSpec) -> str | None:
    section = merged.root.get("model")
    path = section.value.get("path") if section is not None and isinstance(section.value, MapNode) else None
    value = path.value.value if path is not None and isinstance(path.value, ScalarNode) else None
    if not isinstance(value, str) or not value.startswith("/") or has_marks(value):
        return None
    return value.rstrip("/").rpartition("/")[2] or None
