"""The look at a host: one program over one connection, and its answer as a HostState and findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.fleet import look_answer, look_program, places, preflight
from ddtree_ops.fleet.finding import Finding
from ddtree_ops.fleet.model_on_host import ModelOnHost
from ddtree_ops.fleet.release import Release
from ddtree_ops.fleet.state import HostState, Releases
from ddtree_ops.ports import Command, Completed
from ddtree_ops.units import systemctl
from ddtree_ops.units.eta import Boot, read_history

# The program bounds whatever it calls: 60 s for the roles' programs, 20 s for systemctl.
TIMEOUT_SECONDS = 90.0
MOST_BYTES = 16 << 20  # a real answer has far less than 4 MiB, and read as objects it takes a multiple of its size


@dataclass(frozen=True)
class Look:
    """One look at a host; `findings` are what would stop a deploy of the release that it was asked for.

    `models`: config and bytes of the release's models, by directory. `boots`: earlier starts on its port, oldest first.
    `gpu_mib`: memory of the smallest GPU.
    """

    state: HostState
    findings: tuple[Finding, ...] = ()
    models: Mapping[str, ModelOnHost] = field(default_factory=dict)
    boots: tuple[Boot, ...] = ()
    gpu_mib: int | None = None


def command(port: int, release: Release | None = None, now: float = 0.0, *, every_release: bool = False) -> Command:
    """Look at everything. `port` names the likely unit; with a release, ask the roles' programs about it, too.

    `now` is this machine's time in seconds since the epoch. `every_release`: compare the files of those not in use, too.
    """
    programs = {}
    if release is not None:
        programs = {"preflight": preflight.host_arguments(release, now), "model": preflight.model_arguments(release)}
    units = (systemctl.unit_name(port), systemctl.SERVERS, places.DEAD_MAN_TIMER)
    wanted = {
        "root": places.ROOT,
        "state": places.STATE,
        "units": list(systemctl.show_all(units).argv),
        "release": release.id if release else None,
        "every_release": every_release,
        "programs": programs,
        "port": port if release else None,  # whose boot history is of interest
    }
    return _command(wanted, tuple(programs))


def releases_only() -> Command:
    """Look at links, manifests and leftovers: neither systemd nor a driver is asked."""
    nothing: dict[str, Any] = {"units": [], "release": None, "every_release": False, "programs": {}}
    return _command({"root": places.ROOT, "state": places.STATE, **nothing}, ())


def _command(wanted: dict[str, Any], programs: tuple[str, ...]) -> Command:
    argv = look_program.argv(wanted, programs)
    return Command(argv, ok=frozenset(range(256)), timeout=TIMEOUT_SECONDS, most_bytes=MOST_BYTES)


def parse(done: Completed, host: str, port: int) -> Look:
    """What the host answered; `port` is the one of command().

    Raises HostCommandFailed for no answer or a damaged one, Refused for a host without python3.
    """
    answer = look_answer.read(done, host)
    found = tuple(look_answer.findings(answer))
    return Look(
        look_answer.host_state(answer, port),
        found,
        look_answer.models(answer),
        read_history(answer.boots),
        look_answer.gpu_mib(answer),
    )


def parse_releases(done: Completed, host: str) -> Releases:
    """What the host answered to releases_only(). Raises as parse()."""
    return look_answer.releases(look_answer.read(done, host))
