"""What Prometheus scrapes, by job, from an inventory.

A label `release` is left out on purpose: an inventory knows which release a host shall have, not which one serves, and a label
that changes with every deploy would end all series of the host. `ddtree_ops_release_info` tells the real one.

`instance` and `port` are set here, too: many targets share one address where the exporter passes requests on, and `port` joins
SGLang's series with ours. Labels that begin with `__`: prometheus.io/docs, "Configuration", relabel_config.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.inventory import Fleet, Host
from ddtree_ops.fleet.mistakes import Mistake, as_error
from ddtree_ops.fleet.monitoring import GROUP, MONITORING, Mode, MonitoringSettings, is_address
from ddtree_ops.fleet.outline import Outline

# Set where a server is asked itself and not through the exporter, whose password it mustn't get.
DIRECT = "__meta_ddtree_direct"
_UNRESERVED = frozenset(f"{string.ascii_letters}{string.digits}-._~")
T = TypeVar("T")


class Job(StrEnum):
    """The jobs of our scrape configuration."""

    SGLANG = "sglang"
    EXPORTER = "ddtree-exporter"
    NODE = "node"
    DCGM = "dcgm"
    ROUTER = "router"
    PROBE = "ddtree-probe"


@dataclass(frozen=True, slots=True)
class ScrapeTarget:
    """One target: `address` is host:port, `labels` are what discovery tells Prometheus beside it."""

    job: Job
    address: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HostTargets:
    """All targets of one host. `problems` say, with file and line, why some may be missing."""

    host: str
    targets: tuple[ScrapeTarget, ...]
    problems: tuple[str, ...] = ()


def scrape_targets(fleet: Fleet) -> tuple[HostTargets, ...]:
    """Every host that is monitored: those that serve, those of group `monitoring`, those with a port for dcgm or a router.

    Never raises for a host: what is wrong with one hides no other, and hides only what can't be known of itself.
    """
    return tuple(found for host in fleet.hosts if (found := _targets(host)) is not None)


def _targets(host: Host) -> HostTargets | None:
    problems: list[str] = []
    settings = _or_problem(lambda: host.monitoring, problems)
    if settings is None:
        return HostTargets(host.name, (), tuple(problems))
    if not (host.serves or GROUP in host.groups or settings.dcgm_port or settings.router_port):
        return None
    address = settings.address or _or_problem(lambda: _ssh_address(host), problems)
    outline = _or_problem(lambda: host.outline, problems) if host.serves else None
    hardware = _or_problem(lambda: host.hardware.name, problems) if host.serves else None
    labels = {"host": host.name}
    labels |= {"hardware": hardware} if hardware else {}
    labels |= {"model": outline.model} if outline and outline.model else {}
    found = _Host(address, settings, labels).targets(outline, serves=host.serves)
    return HostTargets(host.name, tuple(found), tuple(problems))


@dataclass(frozen=True, slots=True)
class _Host:
    """`address` is None where it can't be known; what doesn't need it is told all the same."""

    address: str | None
    settings: MonitoringSettings
    labels: Mapping[str, str]

    def targets(self, outline: Outline | None, *, serves: bool) -> Iterator[ScrapeTarget]:
        exporter = self._exporter_address
        if serves and exporter is not None:
            path = "/probe" if self._is_remote else "/metrics"
            yield self._target(Job.EXPORTER, exporter, path, self.settings.scheme, self._which_host())
        if outline is not None and outline.is_wide:
            yield from self._direct(outline)
        elif outline is not None and exporter is not None:
            yield from self._passed_through(outline, exporter)
        if self.address is not None:
            yield from self._beside(self.address)

    def _beside(self, address: str) -> Iterator[ScrapeTarget]:
        settings = self.settings
        for job, port, scheme in (
            (Job.NODE, settings.node_port, str(settings.node_scheme)),
            (Job.DCGM, settings.dcgm_port, "http"),
            (Job.ROUTER, settings.router_port, "http"),
        ):
            if port is not None:
                yield self._target(job, _join(address, port), "/metrics", scheme)

    def _direct(self, outline: Outline) -> Iterator[ScrapeTarget]:
        everywhere = outline.listen in ("0.0.0.0", "::")  # noqa: S104 - compared, nothing listens here
        address = self.address if everywhere else outline.listen
        if address is not None:
            server = _join(address, outline.port)
            more = {**self._server(outline), DIRECT: "true"}
            yield self._target(Job.SGLANG, server, "/metrics", "http", more)
            yield self._probe(server, f"http://{server}/health", more)

    def _passed_through(self, outline: Outline, exporter: str) -> Iterator[ScrapeTarget]:
        """A controller's exporter has a path for each host. Prometheus encodes a path by itself, a parameter's value we do."""
        scheme, name, server = self.settings.scheme, self.labels["host"], f"/server/{outline.port}"
        path, encoded = (f"/hosts/{name}", f"/hosts/{_quoted(name)}") if self._is_remote else ("", "")
        more = self._server(outline)
        yield self._target(Job.SGLANG, exporter, f"{path}{server}/metrics", scheme, more)
        yield self._probe(exporter, f"{scheme}://{exporter}{encoded}{server}/health", more)

    def _probe(self, address: str, url: str, more: Mapping[str, str]) -> ScrapeTarget:
        """The blackbox exporter asks `__param_target`; the scrape configuration puts its own address in place of `address`."""
        return self._target(Job.PROBE, address, "/probe", "http", {**more, "__param_target": url})

    def _server(self, outline: Outline) -> dict[str, str]:
        return {"port": str(outline.port), "instance": f"{self.labels['host']}:{outline.port}"}

    def _target(self, job: Job, address: str, path: str, scheme: str, more: Mapping[str, str] | None = None) -> ScrapeTarget:
        names = {"instance": self.labels["host"], "__scheme__": str(scheme), "__metrics_path__": path}
        return ScrapeTarget(job, address, {**self.labels, **names, **(more or {})})

    @property
    def _is_remote(self) -> bool:
        return self.settings.mode is Mode.CONTROLLER

    @property
    def _exporter_address(self) -> str | None:
        address = self.settings.controller if self._is_remote else self.address
        return None if address is None else _join(address, self.settings.exporter_port)

    def _which_host(self) -> dict[str, str]:
        return {"__param_host": self.labels["host"]} if self._is_remote else {}


def _ssh_address(host: Host) -> str:
    address = host.connection.address
    if is_address(address):
        return address
    text = f"its address for SSH is none that Prometheus could ask; set {MONITORING}.address"
    raise as_error([Mistake(host.place, host.name, text)])


def _quoted(name: str) -> str:
    """Percent-encoding (RFC 3986, 2.1 to 2.3); names of an inventory may hold anything."""
    encoded = name.encode("utf-8", "replace")
    return "".join(chr(byte) if chr(byte) in _UNRESERVED else f"%{byte:02X}" for byte in encoded)


def _join(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _or_problem(read: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return read()
    except InvalidInventory as error:
        problems += [error.message, *error.evidence]
        return None
