"""What the host's audit log comes to: attempts by event and result, and what the last smoke test and gate found.

The records are written by role service (lock.py: a line for each attempt, with the controller's last
word; committing.py, deadman.py) and filled by `flows/attempt.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.exporter.audit.record_time import plausible, written

EVENTS = ("deploy", "rollback", "start", "stop", "restart", "dead_man", "other")
RESULTS = ("ok", "failed", "rolled_back", "refused", "interrupted")
MOST_QUESTIONS = 16
# A controller that lost its connection comes back within this time, or its attempt has ended with it (lock.py: SILENCE_SECONDS).
COMES_BACK_SECONDS = 120.0
_ATTEMPTS = ("deploy", "rollback", "start", "stop", "restart")
_OK = ("deployed", "nothing_to_do", "ready")
_MOST_SECONDS = 1e7
_MOST_LOST = 16


@dataclass
class AuditCounts:
    """`attempts`, `last` (Unix time) by `event/result`; `seconds` by event; `lost`: controllers that may come back."""

    attempts: dict[str, int] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    lost: dict[str, tuple[str, float]] = field(default_factory=dict)
    smoke_ok: bool | None = None
    smoke_seconds: tuple[float | None, ...] = ()
    gate_ok: bool | None = None
    gate_length: float | None = None

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> AuditCounts:
        """What asdict() gave. Raises TypeError, ValueError, AttributeError for anything else."""
        found = cls(**data)
        if not {type(found.smoke_ok), type(found.gate_ok)} <= {bool, type(None)}:
            raise TypeError("neither passed nor failed")
        found.attempts = {_key(key): int(number) for key, number in found.attempts.items()}
        found.last = {_key(key): float(at) for key, at in found.last.items()}
        found.seconds = {str(event): float(seconds) for event, seconds in found.seconds.items()}
        found.lost = {who: (str(event), float(at)) for who, (event, at) in found.lost.items()}
        found.smoke_seconds = tuple(map(_number, found.smoke_seconds))
        found.gate_length = _number(found.gate_length)
        return found

    def take(self, record: Mapping[str, Any], now: float) -> None:
        """One record of the log, in its order; `now` is Unix time. Whatever it isn't sure of, it leaves out."""
        event, said = record.get("event"), written(record.get("at"))
        if said is None or not isinstance(event, str):
            return
        at = plausible(said, now)
        who = f"{record.get('user')}@{record.get('controller')}/{record.get('pid')}"[:200]
        if event in _ATTEMPTS and "outcome" in record:
            self.lost.pop(who, None)
            self._count(event, _result(event, record["outcome"]), at, record.get("seconds"))
            self._checked(record.get("checks"))
        elif event == "controller lost" and len(self.lost) < _MOST_LOST:
            self.lost[who] = (_event(record.get("command")), now if at is None else at)
        elif event == "begun":
            self._give_up(self.lost.keys() - {who})
        elif event == "dead-man":
            self._give_up(set(self.lost))
            self._count("dead_man", "rolled_back" if record.get("back_to") else "failed", at, None)

    def settle(self, now: float) -> None:
        """Controllers that didn't come back in time. `now` is Unix time."""
        self._give_up({who for who, (_, at) in self.lost.items() if now - at > COMES_BACK_SECONDS})

    def _give_up(self, gone: set[str]) -> None:
        for who in gone:
            event, at = self.lost.pop(who)
            self._count(event, "interrupted", at, None)

    def _count(self, event: str, result: str, at: float | None, seconds: object) -> None:
        key = f"{event}/{result}"
        self.attempts[key] = self.attempts.get(key, 0) + 1
        if at is not None:
            self.last[key] = at
        took = _number(seconds)
        if took is not None:
            self.seconds[event] = took

    def _checked(self, checks: object) -> None:
        """A smoke test or gate that couldn't be asked found nothing; one that was left out says nothing either."""
        if not isinstance(checks, Mapping):
            return
        smoke, gate = checks.get("smoke"), checks.get("gate")
        if isinstance(smoke, Mapping) and isinstance(smoke.get("seconds"), list):
            self.smoke_ok = smoke.get("ok") is True
            self.smoke_seconds = tuple(map(_number, smoke["seconds"][:MOST_QUESTIONS]))
        if isinstance(gate, Mapping) and gate.get("verdict") in ("passed", "refused", "inconclusive"):
            self.gate_ok = gate["verdict"] == "passed"
            self.gate_length = _number(gate.get("acceptance_length"))


def _key(text: str) -> str:
    """Raises ValueError for what isn't an event and a result of ours."""
    event, result = text.split("/")
    if event not in EVENTS or result not in RESULTS:
        raise ValueError("neither")
    return text


def _result(event: str, outcome: object) -> str:
    if outcome in _OK or (event, outcome) == ("stop", "stopped"):
        return "ok"
    return str(outcome) if outcome in RESULTS else "failed"


def _event(command: object) -> str:
    """Of a command line as the lock has it: `deploy --host ct200`."""
    first = (command.split() or [""])[0] if isinstance(command, str) else ""
    return first if first in _ATTEMPTS else "other"


def _number(value: object) -> float | None:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_SECONDS
    return float(value) if fits and isinstance(value, int | float) else None
