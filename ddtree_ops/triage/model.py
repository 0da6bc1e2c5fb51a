"""What triage finds, as data. The failure report (package `report`) is a rendering of exactly this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ddtree_ops.triage.block import Device, Evidence, ParsedException, Thread
from ddtree_ops.triage.kinds import Kind


class Role(StrEnum):
    """A failure's place in the story. REQUEST: one request failed and the server lives."""

    ROOT = "root"
    CONSEQUENCE = "consequence"
    REQUEST = "request"
    NOISE = "noise"


_ROLES = tuple(Role)


class FailurePhase(StrEnum):
    """Where the server stood when it failed."""

    ARGUMENTS = "arguments"
    DISTRIBUTED_INIT = "distributed_init"
    WEIGHTS = "weights"
    KV_CACHE = "kv_cache"
    GRAPH_CAPTURE = "graph_capture"
    WARMUP = "warmup"
    SERVING = "serving"
    SHUTDOWN = "shutdown"
    DEPLOY = "deploy"
    UNKNOWN = "unknown"


class Confidence(StrEnum):
    """How sure the cause is. UNKNOWN: there is none."""

    CERTAIN = "certain"
    LIKELY = "likely"
    LOW = "low"
    UNKNOWN = "unknown"


#: Kinds of events that tell what of the input wasn't read, wasn't there, or is elsewhere. Every form of the report shows them.
UNREADABLE_INPUT, NOTHING_LEFT, EARLIER_CRASHES = "unreadable_input", "nothing_left", "earlier_crashes"
RECOVERED, UNFINISHED = "recovered", "unfinished_start"
NOTES = (UNREADABLE_INPUT, NOTHING_LEFT, EARLIER_CRASHES, RECOVERED, UNFINISHED)


class Verdict(StrEnum):
    """What the whole log says. INCONCLUSIVE: there was nothing to judge by."""

    FAILURE = "failure"
    NO_FAILURE = "no_failure"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Process:
    """A process a failure happened in; `rank` as printed."""

    pid: int | None
    rank: str | None
    name: str | None


@dataclass(frozen=True, slots=True)
class Number:
    """An integer of a failure's message and what it is, with where that is known from.

    `parameter`: the argument behind it, for `origins`; no form of the report has it.
    """

    value: int
    expression: str
    source: str
    parameter: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """A point of the timeline: unit start, phases, kills, exits."""

    time_us: int | None
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a signature recognised: the kind, and, as far as it is really known, cause, fixes and numbers."""

    kind: Kind
    title: str
    cause: str | None
    fixes: tuple[str, ...]
    confidence: Confidence
    numbers: tuple[Number, ...] = ()
    devices: tuple[Device, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure, equal ones of several ranks collapsed into it (`count`, `processes`).

    `context`: what its process wrote right before, oldest first.
    """

    fingerprint: str
    kind: Kind
    title: str
    role: Role
    phase: FailurePhase
    first_us: int | None
    last_us: int | None
    count: int
    processes: tuple[Process, ...]
    exceptions: tuple[ParsedException, ...]
    numbers: tuple[Number, ...]
    evidence: tuple[Evidence, ...]
    cause: str | None
    fixes: tuple[str, ...]
    confidence: Confidence
    devices: tuple[Device, ...] = ()
    threads: tuple[Thread, ...] = ()
    context: tuple[Evidence, ...] = ()

    @property
    def order(self) -> int:
        """Where its role stands in a report: the root first, noise last."""
        return _ROLES.index(self.role)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the log says: failures (root first, then consequences, requests, noise) and the timeline."""

    verdict: Verdict
    failures: tuple[Failure, ...]
    events: tuple[Event, ...]
    lines_read: int
    since_us: int | None
    until_us: int | None
    invocation: str | None
    unit: str | None


#: Resolved server arguments by field name, as SGLang prints them; secrets left out.
ServerArgs = Mapping[str, object]
