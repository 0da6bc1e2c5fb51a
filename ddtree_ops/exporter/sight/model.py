"""What is known of a host and its servers at one moment. None means that nobody told, never nought.

Times are Unix seconds and stay absolute: how long ago that is, is the business of whoever shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class State(StrEnum):
    """How a server is, worst first: the order of tables."""

    FAILED = "failed"
    UNANSWERING = "not-answering"  # active, but its health fails and no tokens come
    STALLED = "stalled"
    UNREACHABLE = "unreachable"
    LOADING = "loading"
    UNKNOWN = "unknown"
    STOPPING = "stopping"
    STOPPED = "stopped"
    ABSENT = "absent"  # no server unit on the host
    SERVING = "serving"


RANK = {state: rank for rank, state in enumerate(State)}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure that triage found, with words of ours only. `cause` and `fix` are empty for what is no root failure."""

    fingerprint: str
    kind: str
    role: str
    last: float
    count: int | None
    cause: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """How far a start is. `progress` is 0 to 1; `eta`, `elapsed` and `usual` are seconds; `moved` is when it last moved."""

    phase: str | None = None
    progress: float | None = None
    eta: float | None = None
    elapsed: float | None = None
    usual: float | None = None
    moved: float | None = None


@dataclass(frozen=True, slots=True)
class Boot:
    """The last finished boot: seconds of each segment, in their order, and how all boots on record ended."""

    segments: tuple[tuple[str, float], ...] = ()
    seconds: float | None = None
    outcomes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the server does. `tokens` are generated tokens a second, `acceptance` tokens committed per request and verify step,
    both over the last seconds; the series are older values first, None where nothing was known. `silent_since` is when health
    began to fail while no tokens came."""

    running: int | None = None
    queued: int | None = None
    kv_used: float | None = None
    answers: bool | None = None
    healthy: bool | None = None
    silent_since: float | None = None
    tokens: float | None = None
    acceptance: float | None = None
    tokens_series: tuple[float | None, ...] = ()
    acceptance_series: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """Which release is where, and how the serving one is configured."""

    serving: str | None = None
    current: str | None = None
    last_good: str | None = None
    model: str | None = None
    draft_model: str | None = None
    algorithm: str | None = None
    tensor_parallel: str | None = None
    budget: int | None = None
    block: int | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """One unit. `reason` says in a few words what the state alone doesn't."""

    port: int | None
    state: State
    reason: str = ""
    unit: str | None = None
    started: float | None = None
    restarts: int | None = None
    exit_code: int | None = None
    result: str | None = None
    load: Load = Load()
    boot: Boot = Boot()
    traffic: Traffic = Traffic()
    settings: Settings = Settings()
    failures: tuple[Failure, ...] = ()

    @property
    def last_failure(self) -> Failure | None:
        """The newest root failure."""
        return next((one for one in self.failures if one.role == "root"), None)


@dataclass(frozen=True, slots=True)
class Gpu:
    """Memory in bytes, temperature in degrees Celsius, power in watts; `busy` is 0 to 1; `troubles` are words of ours."""

    index: str
    name: str | None = None
    used: float | None = None
    memory: float | None = None
    busy: float | None = None
    temperature: float | None = None
    power: float | None = None
    power_limit: float | None = None
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Deploy:
    """How often an event (deploy, rollback, stop, ...) came to a result, and when it last did."""

    event: str
    result: str
    count: int | None
    last: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class HostSight:
    """A host. `read` is when its units were last read; `problem` is why they can't be; `stale` that all of it is old."""

    host: str
    servers: tuple[Server, ...]
    hardware: str | None = None
    gpus: tuple[Gpu, ...] = ()
    gpus_seen: int | None = None
    gpus_expected: int | None = None
    drift: tuple[tuple[str, int], ...] | None = None
    deploys: tuple[Deploy, ...] = ()
    deadline: float | None = None
    smoke: bool | None = None
    gate: bool | None = None
    gate_length: float | None = None
    blind: tuple[str, ...] = ()  # collectors that can't read
    problem: str | None = None
    stale: bool = False
    read: float | None = field(default=None, compare=False)

    @property
    def state(self) -> State:
        """That of its worst server."""
        return min((server.state for server in self.servers), key=RANK.__getitem__, default=State.UNKNOWN)

    @property
    def drift_items(self) -> int | None:
        return None if self.drift is None else sum(count for _, count in self.drift)
