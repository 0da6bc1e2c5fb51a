"""One host in words, for its own page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ddtree_ops.exporter.page.row import report_href, sparks
from ddtree_ops.exporter.sight.model import Boot, Deploy, Failure, Gpu, HostSight, Load, Server, State
from ddtree_ops.exporter.sight.row import KV_FULL, Row, is_loading, phase_words, problem_words, rows
from ddtree_ops.exporter.sight.words import UNKNOWN, gibibytes, hundredths, number, percent, plain, span
from ddtree_ops.units.phases import Phase

_STEPS = tuple(phase for phase in Phase if phase not in (Phase.SERVING, Phase.SHUTDOWN))
_COLOURS = 7
_BAR = 1000.0
_SHOWN_FAILURES, _SHOWN_DEPLOYS = 12, 10


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the bar of a boot, `x` and `width` of a thousand."""

    name: str
    seconds: str
    x: float
    width: float
    colour: int


def _server_view(sight: HostSight, server: Server, row: Row, fleet: bool) -> dict[str, Any]:
    """What the parts of a server need."""
    kv = hundredths(server.traffic.kv_used)
    return {
        "row": row,
        **sparks(row),
        "facts": list(_facts(server)),
        "times": list(_times(server)),
        "steps": _steps(server.load) if is_loading(server.state) else [],
        "usual": span(server.load.usual) if server.load.usual is not None else "",
        "moved": None if server.load.moved is None else int(server.load.moved),
        "kv": kv,
        "kv_full": kv is not None and kv >= KV_FULL,
        "boot": _boot(server.boot),
        "boot_seconds": span(server.boot.seconds) if server.boot.seconds is not None else "",
        "outcomes": [f"{count} {plain(name)}" for name, count in server.boot.outcomes if count],
        "busy": any(told is not None for told in (server.traffic.running, server.traffic.tokens, server.traffic.kv_used)),
        "why": _failure(sight, server.last_failure, fleet) if server.state is State.FAILED and server.last_failure else None,
        "failures": [_failure(sight, one, fleet) for one in _roots_first(server.failures)[:_SHOWN_FAILURES]],
    }


def host_view(sight: HostSight, fleet: bool) -> dict[str, Any]:
    """What the templates of a host's page need."""
    servers = [_server_view(sight, server, row, fleet) for server, row in zip(sight.servers, rows(sight), strict=True)]
    return {
        "host": plain(sight.host),
        "hardware": plain(sight.hardware or ""),
        "seen": int(sight.read) if sight.stale and sight.read is not None else None,
        "problem": problem_words(sight),
        "blind": ", ".join(plain(name) for name in sight.blind),
        "servers": servers,
        "gpus": [_gpu(gpu) for gpu in sight.gpus],
        "gpu_count": _gpu_count(sight),
        "drift": _drift(sight),
        "deadline": sight.deadline,
        "deploys": [_deploy(one) for one in sight.deploys[:_SHOWN_DEPLOYS]],
        "tests": list(_tests(sight)),
    }


def _failure(sight: HostSight, one: Failure, fleet: bool) -> dict[str, Any]:
    return {
        "kind": plain(one.kind, 60),
        "role": plain(one.role, 20),
        "cause": plain(one.cause, 400),
        "fix": plain(one.fix, 400),
        "count": number(one.count),
        "last": int(one.last),
        "href": report_href(sight.host, one.fingerprint, fleet),
    }


def _roots_first(failures: Sequence[Failure]) -> list[Failure]:
    return sorted(failures, key=lambda one: (one.role != "root", -one.last))


def _facts(server: Server) -> Iterator[tuple[str, str]]:
    settings = server.settings
    told = (
        ("Model", settings.model),
        ("Draft model", settings.draft_model),
        ("Algorithm", settings.algorithm),
        ("Tensor parallel", settings.tensor_parallel),
        ("Budget", None if settings.budget is None else f"{settings.budget} nodes"),
        ("Block", None if settings.block is None else f"{settings.block} tokens"),
        ("Serving release", settings.serving),
        ("Current release", settings.current if settings.current != settings.serving else None),
        ("Last good release", settings.last_good if settings.last_good != settings.serving else None),
        ("Port", None if server.port is None else str(server.port)),
        ("systemd", server.unit),
        ("Restarts", None if server.restarts is None else str(server.restarts)),
        ("Last exit", _exit(server)),
    )
    yield from ((name, plain(value)) for name, value in told if value)


def _exit(server: Server) -> str | None:
    if server.exit_code is None or (server.result in (None, "success") and not server.exit_code):
        return None
    return f"code {server.exit_code}" + (f", {server.result}" if server.result not in (None, "success") else "")


def _times(server: Server) -> Iterator[tuple[str, int]]:
    if server.started is not None and server.unit in ("active", "activating"):
        yield "Started", int(server.started)


def _steps(load: Load) -> list[dict[str, str]]:
    """All phases of a start; which of them is now."""
    known = [str(phase) for phase in _STEPS]
    at = known.index(load.phase) if load.phase in known else -1
    return [
        {"name": phase_words(name), "place": "done" if place < at else "now" if place == at else "later"}
        for place, name in enumerate(known)
    ]


def _boot(boot: Boot) -> list[Segment]:
    total = sum(seconds for _, seconds in boot.segments)
    if not total:
        return []
    found, x = [], 0.0
    for place, (name, seconds) in enumerate(boot.segments[:24]):
        width = seconds / total * _BAR
        found.append(Segment(phase_words(name), _seconds(seconds), round(x, 1), round(width, 1), place % _COLOURS + 1))
        x += width
    return found


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else span(seconds)


def _gpu(gpu: Gpu) -> dict[str, Any]:
    power = number(gpu.power) + (f" / {number(gpu.power_limit)}" if gpu.power_limit is not None else "")
    return {
        "index": plain(gpu.index, 40),
        "name": plain(gpu.name or UNKNOWN),
        "full": hundredths(gpu.used / gpu.memory) if gpu.used is not None and gpu.memory else None,
        "memory": f"{gibibytes(gpu.used)} / {gibibytes(gpu.memory)}",
        "busy": percent(gpu.busy),
        "temperature": number(gpu.temperature),
        "power": power,
        "troubles": ", ".join(plain(one) for one in gpu.troubles),
    }


def _gpu_count(sight: HostSight) -> str:
    if sight.gpus_seen is None or sight.gpus_expected is None or sight.gpus_seen >= sight.gpus_expected:
        return ""
    return f"{sight.gpus_seen} of {sight.gpus_expected} GPUs are there"


def _drift(sight: HostSight) -> str:
    if sight.drift is None:
        return ""
    return ", ".join(f"{count} {plain(what)}" for what, count in sight.drift) or "none"


def _deploy(one: Deploy) -> dict[str, Any]:
    return {
        "event": plain(one.event, 40),
        "result": plain(one.result, 40).replace("_", " "),
        "good": one.result == "ok",
        "count": number(one.count),
        "last": None if one.last is None else int(one.last),
        "seconds": span(one.seconds) if one.seconds is not None else UNKNOWN,
    }


def _tests(sight: HostSight) -> Iterator[tuple[str, bool, str]]:
    if sight.smoke is not None:
        yield "Smoke test", sight.smoke, ""
    if sight.gate is not None:
        yield "Acceptance gate", sight.gate, "" if sight.gate_length is None else f"{sight.gate_length:.2f} tokens per step"
