"""`ddtree_monitoring`: how Prometheus reaches what a host tells of itself.

Plain dataclasses and not pydantic: a long-running exporter answers service discovery, and pydantic alone would take half of the
memory that it may have.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ddtree_ops.fleet.mistakes import Mistake, nearest
from ddtree_ops.fleet.nodes import Entry, MapNode, Node, ScalarNode, kind
from ddtree_ops.fleet.templates import is_template
from ddtree_ops.units.whole_number import MOST_PORT

MONITORING = "ddtree_monitoring"
GROUP = "monitoring"  # hosts that run Prometheus; role monitoring goes by it, too
EXPORTER_PORT = 9736
NODE_PORT = 9100  # prometheus-node-exporter(1), --web.listen-address
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?")


class Mode(StrEnum):
    """Where the exporter runs that tells of a host."""

    ON_HOST = "on_host"
    CONTROLLER = "controller"


class Scheme(StrEnum):
    """How Prometheus speaks to it."""

    HTTP = "http"
    HTTPS = "https"


def _about(text: str) -> Mapping[str, str]:
    return {"text": text}


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """One host's `ddtree_monitoring`. Ports that are None are not scraped."""

    address: str | None = field(
        default=None, metadata=_about("name or IP address of the host as Prometheus sees it; else the one that SSH goes to")
    )
    mode: Mode = field(
        default=Mode.ON_HOST,
        metadata=_about("on_host: the host runs its own exporter; controller: one elsewhere reads it over SSH"),
    )
    controller: str = field(
        default="127.0.0.1", metadata=_about("with mode controller: name or address of that exporter, as Prometheus sees it")
    )
    exporter_port: int = field(default=EXPORTER_PORT, metadata=_about("port of the exporter, here or on the controller"))
    scheme: Scheme = field(default=Scheme.HTTP, metadata=_about("http or https: how the exporter is asked"))
    node_port: int | None = field(default=NODE_PORT, metadata=_about("port of the node exporter; null: there is none"))
    node_scheme: Scheme = field(default=Scheme.HTTP, metadata=_about("http or https: how the node exporter is asked"))
    dcgm_port: int | None = field(default=None, metadata=_about("port of dcgm-exporter, usually 9400"))
    router_port: int | None = field(
        default=None, metadata=_about("port on which a router in front of servers tells its metrics, usually 29000")
    )


def settings_reference() -> str:
    """A Markdown table with a row per key, as docs show it."""
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for one in dataclasses.fields(MonitoringSettings):
        default = "none" if one.default is None else f"`{one.default}`"
        rows.append(f"| `{one.name}` | {default} | {one.metadata['text']} |")
    return "\n".join(rows) + "\n"


def read_monitoring(variables: Mapping[str, Entry], mistakes: list[Mistake]) -> MonitoringSettings:
    """The host's settings, or the defaults for what isn't said; what is wrong is appended to `mistakes`."""
    entry = variables.get(MONITORING)
    if entry is None or (isinstance(entry.value, ScalarNode) and entry.value.value is None):
        return MonitoringSettings()
    if not isinstance(entry.value, MapNode):
        mistakes.append(Mistake(entry.place, MONITORING, f"expected a mapping, got {_got(entry.value)}"))
        return MonitoringSettings()
    given: dict[str, object] = {}
    for item in entry.value.entries:
        name = str(item.key)
        read = _READERS.get(name)
        if read is None:
            known = nearest(name, _READERS) or f"; known are {', '.join(_READERS)}"
            mistakes.append(Mistake(item.place, f"{MONITORING}.{name}", f"unknown key{known}"))
            continue
        try:
            given[name] = read(item.value)
        except ValueError as error:
            mistakes.append(Mistake(item.place, f"{MONITORING}.{name}", str(error)))
    return dataclasses.replace(MonitoringSettings(), **given)  # type: ignore[arg-type]  # each reader gives its field's type


def _got(node: Node) -> str:
    template = isinstance(node, ScalarNode) and is_template(node)
    return "a Jinja template, which only Ansible can evaluate" if template else kind(node)


def _port(node: Node) -> int:
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_PORT:
        return value
    what = "another number" if isinstance(value, int) and not isinstance(value, bool) else _got(node)
    raise ValueError(f"expected a port from 1 to {MOST_PORT}, got {what}")


def _port_or_none(node: Node) -> int | None:
    return None if isinstance(node, ScalarNode) and node.value is None else _port(node)


def _address(node: Node) -> str:
    value = node.value if isinstance(node, ScalarNode) and not is_template(node) else None
    if isinstance(value, str) and is_address(value):
        return value
    got = "text that is neither" if isinstance(value, str) else _got(node)
    raise ValueError(f"expected a host's name or IP address without port, got {got}")


def is_address(text: str) -> bool:
    """Whether this is a host's name or IP address, as the part of a target before its port."""
    return _NAME.fullmatch(text) is not None or _is_ip(text)


def _address_or_none(node: Node) -> str | None:
    return None if isinstance(node, ScalarNode) and node.value is None else _address(node)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone means something on one machine only


def _word(words: type[Mode] | type[Scheme]) -> Callable[[Node], Mode | Scheme]:
    def read(node: Node) -> Mode | Scheme:
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, str) and value in tuple(words):
            return words(value)
        near = nearest(value, tuple(words)) if isinstance(value, str) else ""
        raise ValueError(f"expected {' or '.join(words)}{near or f', got {_got(node)}'}")

    return read


_READERS: Mapping[str, Callable[[Node], object]] = {
    "address": _address_or_none,
    "mode": _word(Mode),
    "controller": _address,
    "exporter_port": _port,
    "scheme": _word(Scheme),
    "node_port": _port_or_none,
    "node_scheme": _word(Scheme),
    "dcgm_port": _port_or_none,
    "router_port": _port_or_none,
}
