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
_MOST_OPEN = 16
_MOST_ENDED = 16


@dataclass
class AuditCounts:
    """`attempts`, `last` (Unix time) by `event/result`; `seconds` by event.

    `open`: attempts without an end by who makes them: the event, and when the controller was lost, which may come back; None: it
    is there. `ended`: who ended last; what else is said of theirs is no end of another one.
    """

    attempts: dict[str, int] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    open: dict[str, tuple[str, float | None]] = field(default_factory=dict)
    ended: tuple[str, ...] = ()
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
        found.open = {who: (str(event), None if at is None else float(at)) for who, (event, at) in found.open.items()}
        found.ended = tuple(map(str, found.ended))
        found.smoke_seconds = tuple(map(_number, found.smoke_seconds))
        found.gate_length = _number(found.gate_length)
        return found

    def take(self, record: Mapping[str, Any], now: float) -> None:
        """One record of the log, in its order; `now` is Unix time. Whatever it isn't sure of, it leaves out."""
        event, said = record.get("event"), written(record.get("at"))
        if said is None or not isinstance(event, str):
            return
        at, who = plausible(said, now), _who(record)
        if event in _ATTEMPTS and "outcome" in record:
            self._close(who)
            self._count(event, _result(event, record["outcome"]), at, record.get("seconds"))
            self._checked(record.get("checks"))
        elif event == "dead-man":
            self._give_up(set(self.open), at)
            self._count("dead_man", "rolled_back" if record.get("back_to") else "failed", at, None)
        else:
            self._follow(event, record, who, now if at is None else at)

    def settle(self, now: float) -> None:
        """Controllers that didn't come back in time. `now` is Unix time."""
        lost = {who: at for who, (_, at) in self.open.items() if at is not None}
        self._give_up({who for who, at in lost.items() if now - at > COMES_BACK_SECONDS}, now)

    def _follow(self, event: str, record: Mapping[str, Any], who: str, at: float) -> None:
        """Who holds the host's lock, one at a time: whoever gets it shows that the attempts before are over."""
        command = _event(record.get("command"))
        if event == "begun":
            self._give_up(set(self.open), at)
            self.ended = tuple(one for one in self.ended if one != who)
            self.open[who] = (command, None)
        elif event == "controller back" and who in self.open:
            self.open[who] = (command, None)
        elif event == "controller lost" and who not in self.ended and len(self.open) < _MOST_OPEN:
            self.open[who] = (command, at)
        elif event == "lock broken" and isinstance(record.get("holder"), Mapping):
            holder = record["holder"]
            if (former := _who(holder)) not in self.ended:
                self.open.setdefault(former, (_event(holder.get("command")), at))
                self._give_up({former}, at)

    def _give_up(self, gone: set[str], at: float | None) -> None:
        """Interrupted when the controller was lost; where nobody saw that, `at`."""
        for who in gone:
            event, lost = self.open[who]
            self._close(who)
            self._count(event, "interrupted", at if lost is None else lost, None)

    def _close(self, who: str) -> None:
        self.open.pop(who, None)
        self.ended = (*self.ended, who)[-_MOST_ENDED:]

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


def _who(document: Mapping[str, Any]) -> str:
    return f"{document.get('user')}@{document.get('controller')}/{document.get('pid')}"[:200]


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
