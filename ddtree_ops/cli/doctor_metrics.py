"""`doctor --metrics`: do a host's server and exporter say what our dashboards and rules need?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ddtree_ops.cli.checkup import Check
from ddtree_ops.errors import DdtreeOpsError, HostCommandFailed, HostTimedOut
from ddtree_ops.ports import HttpRequest

if TYPE_CHECKING:
    from ddtree_ops.cli.exporter_on_host import ExporterUnit
    from ddtree_ops.exporter.metric_names.drift import Outcome, Page
    from ddtree_ops.exporter.metric_names.needs import Need
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.flows.server import Server

SECONDS = 10.0
MOST_BYTES = 16 << 20
_MOST_NAMES = 20
_MOST_TOLD = 3
_PLAYBOOK = "ANSIBLE_CONFIG=deploy/ansible.cfg ansible-playbook -i INVENTORY deploy/playbooks/monitoring.yml"
_JOURNAL = "look on the host: systemctl status ddtree-exporter; journalctl -u ddtree-exporter -n 50"
_ONCE_SECONDS = 60.0
_NOBODY = "nobody answers"


def checks(hosts: Sequence[Host]) -> Iterator[Check]:
    """What is missing on each host, who needs it, and a line for each page that was read. Raises what `needs` raises."""
    from ddtree_ops import assets
    from ddtree_ops.cli import targets
    from ddtree_ops.exporter.metric_names.needs import needs

    needed = needs(assets.dashboards())
    for host, found in targets.each(hosts, lambda host, server: tuple(_on_host(host, server, needed))):
        if isinstance(found, DdtreeOpsError):
            yield Check(host.name, "metrics", False, found.message, found.hint)
        else:
            yield from found


def _on_host(host: Host, server: Server, needed: Sequence[Need]) -> Iterator[Check]:
    yield from _of_server(server, needed)
    yield from _of_exporter(host, server, needed)


def _of_server(server: Server, needed: Sequence[Need]) -> Iterator[Check]:
    from ddtree_ops.exporter.metric_names.drift import of_server, read_page
    from ddtree_ops.fleet.profile import Speculation

    body = _get(server, server.port)
    if isinstance(body, str):
        fix = "wait until it is ready: ddtree-ops status; a server that loads refuses its port"
        yield Check(server.shell.host, "sglang metrics", False, f"/metrics on port {server.port}: {body}", fix)
        return
    speculates = server.spec.speculation is not Speculation.NONE
    outcomes = of_server(needed, read_page(body), speculates=speculates)
    yield from _told(server.shell.host, "sglang metrics", _sglang_version(server), outcomes)


def _of_exporter(host: Host, server: Server, needed: Sequence[Need]) -> Iterator[Check]:
    from ddtree_ops.exporter.metric_names.drift import of_exporter, read_page
    from ddtree_ops.fleet.monitoring import Mode

    if host.monitoring.mode is Mode.CONTROLLER:
        yield Check(host.name, "exporter", True, "is on the controller (ddtree_monitoring.mode): nothing of it to ask here")
        return
    body = _get(server, host.monitoring.exporter_port)
    if isinstance(body, str):
        yield from _of_closed_exporter(host, server, needed, body)
        return
    page = read_page(body)
    yield from _told(host.name, "exporter", f"ddtree-ops {_exporter_version(page)}", of_exporter(needed, page))


def _of_closed_exporter(host: Host, server: Server, needed: Sequence[Need], answer: str) -> Iterator[Check]:
    """Its page doesn't come: for a fault, or because it is for others. Then only the names of its version are judged."""
    from ddtree_ops.cli.exporter_on_host import WITH_STATE, exporter_unit, printed_once
    from ddtree_ops.exporter.metric_names.drift import of_exporter, read_page

    unit = exporter_unit(server.shell)
    why = _closed(host, unit, answer)
    fault = _fault(host, unit, answer) or (None if why else ("that isn't the page of an exporter that is well", _JOURNAL))
    if fault:
        text, fix = fault
        yield Check(host.name, "exporter", False, f"/metrics on port {host.monitoring.exporter_port}: {answer}; {text}", fix)
        return
    try:
        page = read_page(printed_once(server.shell, _ONCE_SECONDS, MOST_BYTES))
    except (HostCommandFailed, HostTimedOut) as error:
        yield Check(host.name, "exporter", True, f"not known: {why}, and `exporter --once` on the host failed: {error.message}")
        return
    yield Check(host.name, "exporter", True, f"runs, but its page isn't read: {why}; below is what `exporter --once` has there")
    version = f"ddtree-ops {_exporter_version(page)}, by --once"
    yield from _told(host.name, "exporter", version, of_exporter(needed, page, not_run=WITH_STATE))


def _fault(host: Host, unit: ExporterUnit, answer: str) -> tuple[str, str] | None:
    """What is wrong by its unit, and the fix. One that answers without a unit was installed by other means."""
    from ddtree_ops.units.systemctl import Active

    if not unit.exists:
        return ("there is no unit ddtree-exporter", f"install it: {_PLAYBOOK}") if answer == _NOBODY else None
    if unit.active not in (Active.ACTIVE, Active.RELOADING, Active.REFRESHING):
        return f"its unit is {unit.active}", _JOURNAL
    if unit.port not in (None, host.monitoring.exporter_port):
        return (
            f"it listens on port {unit.port}, not on ddtree_monitoring.exporter_port",
            f"mend it: {_PLAYBOOK}",
        )
    return None


def _closed(host: Host, unit: ExporterUnit, answer: str) -> str:
    """Why an exporter that is well doesn't show us its page; empty if there is no reason."""
    from ddtree_ops.fleet.monitoring import Scheme

    if not unit.on_loopback:
        return f"it listens on {unit.address} alone"
    # plain HTTP to a port of TLS gets no answer at all, as of a port where nobody listens
    if answer == "HTTP 401" or unit.guarded or host.monitoring.scheme is Scheme.HTTPS:
        return "it asks for TLS or a password"
    return ""


def _told(where: str, what: str, version: str, outcomes: Sequence[Outcome]) -> Iterator[Check]:
    from ddtree_ops.exporter.metric_names.drift import Verdict

    missing = [one for one in outcomes if one.verdict is Verdict.MISSING]
    later = [one for one in outcomes if one.verdict is Verdict.LATER]
    for why, fix in dict.fromkeys((one.why, one.fix) for one in missing):
        yield Check(where, what, False, _line(why, [one for one in missing if one.why == why]), fix)
    for why in dict.fromkeys(one.why for one in later):
        yield Check(where, what, True, f"not now: {_some([one.metric for one in later if one.why == why], _MOST_NAMES)}: {why}")
    there = len({one.metric for one in outcomes if one.verdict is Verdict.THERE})
    lacking = len({one.metric for one in missing})
    text = f"{version}: {there} of {len({one.metric for one in outcomes})} names are there, {lacking} missing"
    yield Check(where, what, not missing, text)


def _line(why: str, outcomes: Sequence[Outcome]) -> str:
    """What is missing for one and the same reason."""
    uses = sorted({use for one in outcomes for use in one.uses})
    near = [name for one in outcomes for name in one.near]
    beside = f"; near it: {_some(near)}" if near else ""
    return f"{_some([one.metric for one in outcomes], _MOST_NAMES)}: {why}; needed by {_some(uses)}{beside}"


def _some(items: Sequence[object], most: int = _MOST_TOLD) -> str:
    more = len(items) - most
    return ", ".join(map(str, items[:most])) + (f" and {more} more" if more > 0 else "")


def _get(server: Server, port: int) -> bytes | str:
    """The page, or why there is none. Raises Unreachable."""
    request = HttpRequest(port, "/metrics", timeout=SECONDS, most_bytes=MOST_BYTES)
    try:
        response = server.ask(request)
    except TimeoutError as error:
        return str(error)
    if response.status == 200:
        return response.body
    return f"HTTP {response.status}" if response.status else response.problem or _NOBODY


def _sglang_version(server: Server) -> str:
    from ddtree_ops.flows import credentials
    from ddtree_ops.flows.gate import server_info

    info = server_info(server, credentials.bearer(server.shell))
    version = info.get("version") if isinstance(info, Mapping) else None
    return f"SGLang {version[:40]}" if isinstance(version, str) else "SGLang of unknown version"


def _exporter_version(page: Page) -> str:
    from ddtree_ops.exporter.catalogue import exporter

    labels = [dict(one.labels) for one in page.get(exporter.BUILD.name, ())]
    return labels[0].get("version", "?")[:40] if labels else "of unknown version"
