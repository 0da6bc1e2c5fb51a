"""systemctl: commands, and what `systemctl show` says of a unit (systemctl(1), org.freedesktop.systemd1(5))."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.ports import Command
from ddtree_ops.units.whole_number import MOST_PORT, whole_number

PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "MainPID",
    "ExecMainStatus",
    "NRestarts",
    "InvocationID",
    "StatusText",
    "InactiveExitTimestamp",
    "ExecMainStartTimestamp",
    "ActiveEnterTimestamp",
    "UnitFileState",
    "FragmentPath",
    "DropInPaths",
    "NeedDaemonReload",
)
SERVERS = "ddtree-server@*.service"


class Active(StrEnum):
    """ActiveState of org.freedesktop.systemd1.Unit. UNKNOWN is what a newer systemd may say: neither up nor down."""

    ACTIVE = "active"
    RELOADING = "reloading"
    INACTIVE = "inactive"
    FAILED = "failed"
    ACTIVATING = "activating"
    DEACTIVATING = "deactivating"
    MAINTENANCE = "maintenance"
    REFRESHING = "refreshing"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, _value: object) -> Active:
        return cls.UNKNOWN


@dataclass(frozen=True)
class UnitState:
    """One look at a unit. Timestamps are text as systemd prints them with `--timestamp=unix`: `@seconds`, or empty.

    `started` moves to the end of a failed run while systemd waits for the next try; `main_started`, of the main process,
    stays with the run. `drop_ins` are paths of files that change the unit; `needs_reload`: a file of it was changed since
    systemd has read it.
    """

    name: str
    load: str
    active: Active
    sub: str
    result: str
    main_pid: int
    exit_status: int
    restarts: int
    invocation: str
    status_text: str
    started: str
    main_started: str
    ready_since: str
    enabled: str
    drop_ins: tuple[str, ...] = ()
    needs_reload: bool = False

    @property
    def exists(self) -> bool:
        return self.load == "loaded"

    @property
    def port(self) -> int | None:
        """The port in the unit's name."""
        return unit_port(self.name)

    @property
    def serving(self) -> bool:
        """The launcher has said READY=1, which it only does after a real generation."""
        return self.active is Active.ACTIVE and self.sub == "running"

    @property
    def run_began(self) -> str:
        """When the latest run began, whatever the unit does now."""
        return self.main_started if self.failed and self.main_started else self.started

    @property
    def failed(self) -> bool:
        """The last run ended badly, or systemd waits before its next try."""
        return self.active is Active.FAILED or self.sub == "auto-restart"


def unit_name(port: int) -> str:
    """Name of the unit that serves on a port."""
    return f"ddtree-server@{port}.service"


def unit_port(name: str) -> int | None:
    """The port in a unit's name; None if it has none."""
    return whole_number(name.partition("@")[2].removesuffix(".service"), MOST_PORT)


def show(unit: str) -> Command:
    """`systemctl show`: succeeds for units that don't exist, too (LoadState=not-found)."""
    return show_all((unit,))


def show_all(units: tuple[str, ...]) -> Command:
    """`systemctl show` of several units or patterns; an empty line between them. A pattern means what is loaded."""
    return Command(("systemctl", "show", *units, "--timestamp=unix", f"--property={','.join(PROPERTIES)}"))


def parse_show(text: str) -> UnitState:
    """`Key=value` lines of show() into a UnitState; missing keys are empty."""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return UnitState(
        name=values.get("Id", ""),
        load=values.get("LoadState", ""),
        active=Active(values.get("ActiveState") or "inactive"),
        sub=values.get("SubState", ""),
        result=values.get("Result", ""),
        main_pid=_number(values.get("MainPID")),
        exit_status=_number(values.get("ExecMainStatus")),
        restarts=_number(values.get("NRestarts")),
        invocation=values.get("InvocationID", ""),
        status_text=values.get("StatusText", ""),
        started=values.get("InactiveExitTimestamp", ""),
        main_started=values.get("ExecMainStartTimestamp", ""),
        ready_since=values.get("ActiveEnterTimestamp", ""),
        enabled=values.get("UnitFileState", ""),
        drop_ins=tuple(values.get("DropInPaths", "").split()),
        needs_reload=values.get("NeedDaemonReload") == "yes",
    )


def servers() -> Command:
    """All our server units that systemd has loaded, running or not, one a line."""
    return Command(("systemctl", "list-units", "--all", "--plain", "--no-legend", "--full", SERVERS))


def parse_servers(text: str) -> tuple[str, ...]:
    """The unit names of servers(): the first word of each line."""
    return tuple(line.split()[0] for line in text.splitlines() if line.strip())


def disable_now(unit: str, timeout: float) -> Command:
    """Stop a unit and let it not start at boot."""
    return Command(("systemctl", "disable", "--now", unit), timeout=timeout)


def restart(unit: str) -> Command:
    """Enqueue a restart (--no-block: a load takes minutes and we follow it ourselves).

    The start limit is cleared first by reset_failed().
    """
    return Command(("systemctl", "restart", "--no-block", unit))


def stop(unit: str, timeout: float) -> Command:
    """Stop and wait: the drain of running requests is bounded by the unit's TimeoutStopSec."""
    return Command(("systemctl", "stop", unit), timeout=timeout)


def reset_failed(unit: str) -> Command:
    """Forget failures and the start-limit counter; exit code 1 when there is nothing to forget."""
    return Command(("systemctl", "reset-failed", unit), ok=frozenset({0, 1}))


def _number(text: str | None) -> int:
    return whole_number(text) or 0
