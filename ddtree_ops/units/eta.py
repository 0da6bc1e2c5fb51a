"""How long a start still takes: boot records, and the medians of the boots before.

A record is one JSON line of `/var/lib/ddtree/boots/<port>.jsonl` (schema `ddtree-ops/boot/v1`), written by the
launcher when a boot has ended: ready, crashed, stalled, stopped or refused.

This file has no dependencies beyond memory_lines: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from .memory_lines import read_figures

SCHEMA = "ddtree-ops/boot/v1"
_BOOTS_COUNTED = 5
_SMALLEST_FRACTION = 0.05  # below it, seconds per percent are noise


class Outcome(StrEnum):
    """How a boot ended."""

    READY = "ready"
    CRASHED = "crashed"
    STALLED = "stalled"
    STOPPED = "stopped"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Boot:
    """One finished boot. `started` is RFC 3339 UTC; `seconds` the whole time until it was ready or had ended.

    `memory`: what the server's log told of its GPU memory (memory_lines.py), empty in records of older launchers.
    """

    release: str
    invocation: str
    started: str
    outcome: Outcome
    seconds: float
    segments: tuple[tuple[str, float], ...]
    memory: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> str:
        """The record as one line without a newline."""
        record: dict[str, Any] = {
            "schema": SCHEMA,
            "release": self.release,
            "invocation": self.invocation,
            "started": self.started,
            "outcome": str(self.outcome),
            "seconds": self.seconds,
            "segments": [list(segment) for segment in self.segments],
        }
        if self.memory:
            record["memory"] = dict(self.memory)
        return json.dumps(record)

    @classmethod
    def from_json(cls, line: str) -> Boot:
        """Read one line. Raises ValueError if it isn't a record of this schema."""
        try:
            data = json.loads(line)
            if data["schema"] != SCHEMA:
                raise ValueError(f"schema {data['schema']!r}")
            return cls(
                str(data["release"]),
                str(data["invocation"]),
                str(data["started"]),
                Outcome(data["outcome"]),
                _seconds(data["seconds"]),
                tuple((str(name), _seconds(seconds)) for name, seconds in data["segments"]),
                read_figures(data.get("memory")),
            )
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"not a boot record: {error}") from None


def _seconds(value: object) -> float:
    """Raises ValueError, OverflowError for what no clock gives."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{ascii(value)[:40]} seconds")
    return float(value)


class Progress(Protocol):
    """What an estimate needs of a PhaseTracker."""

    @property
    def segment(self) -> str: ...
    @property
    def fraction(self) -> float | None: ...
    @property
    def segment_started(self) -> float | None: ...


def read_history(lines: Iterable[str]) -> tuple[Boot, ...]:
    """The records of a boots file, oldest first. A line that can't be read (torn by a power cut) is left out."""
    boots = []
    for line in lines:
        try:
            boots.append(Boot.from_json(line))
        except ValueError:
            continue
    return tuple(boots)


def remaining(history: Sequence[Boot], tracker: Progress, now: float) -> float | None:
    """Seconds until ready, or None if no earlier boot tells.

    Each segment counts with its median over the last successful boots; which segments there are, the newest of them
    tells. While weights load, their own pace counts: a cold page cache makes it several times the median.
    """
    ready = [boot for boot in history if boot.outcome is Outcome.READY][-_BOOTS_COUNTED:]
    if not ready or tracker.segment_started is None:
        return None
    names = [name for name, _ in ready[-1].segments]
    if tracker.segment not in names:
        return None
    typical = _medians(ready)
    later = names[names.index(tracker.segment) + 1 :]
    return _rest_of_segment(tracker, typical[tracker.segment], now) + sum(typical[name] for name in later)


def median(values: Sequence[float]) -> float:
    """Of at least one. The module statistics would bring decimal and fractions along, half a megabyte in the exporter."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def _medians(boots: Sequence[Boot]) -> dict[str, float]:
    seconds: dict[str, list[float]] = {}
    for boot in boots:
        for name, taken in boot.segments:
            seconds.setdefault(name, []).append(taken)
    return {name: median(values) for name, values in seconds.items()}


def _rest_of_segment(tracker: Progress, typical: float, now: float) -> float:
    begin = tracker.segment_started
    elapsed = 0.0 if begin is None else max(0.0, now - begin)
    fraction = tracker.fraction
    if tracker.segment.endswith("weights") and fraction is not None and fraction >= _SMALLEST_FRACTION:
        return elapsed * (1 - fraction) / fraction
    return max(0.0, typical - elapsed)
