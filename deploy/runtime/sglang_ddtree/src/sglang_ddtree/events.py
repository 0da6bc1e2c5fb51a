"""What the supervisor's threads tell it."""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One message of this start's journal; `at` in seconds of the monotonic clock, taken by journald."""

    pid: int
    message: str
    at: float


@dataclass(frozen=True, slots=True)
class Generated:
    """The probe's request came back with text."""

    text: str


@dataclass(frozen=True, slots=True)
class Garbled:
    """The probe's requests come back with nothing but garbage; `reason` is one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class ServerExited:
    """The server's main process ended; `returncode` as in subprocess (a negative number is a signal)."""

    returncode: int


@dataclass(frozen=True, slots=True)
class StopRequested:
    """systemd (or a person) sent SIGTERM or SIGINT."""

    signal: int


Event = JournalLine | Generated | Garbled | ServerExited | StopRequested
Events = SimpleQueue[Event]
