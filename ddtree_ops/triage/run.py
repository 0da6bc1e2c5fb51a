"""One run of the server (one invocation of the unit), as the log tells it so far."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.events import Sign, read_event
from ddtree_ops.triage.frames import HEADER
from ddtree_ops.triage.lines import Line, read_prefix
from ddtree_ops.triage.model import Event, Evidence, FailurePhase, Finding, ParsedTraceback, Process, ServerArgs
from ddtree_ops.triage.numbers import FROM_LOG, GIVEN, Facts
from ddtree_ops.triage.phase_of import phase_of
from ddtree_ops.triage.server_args import MARK, parse_server_args
from ddtree_ops.triage.signatures.lines import match_line
from ddtree_ops.triage.tracebacks import Tracebacks
from ddtree_ops.units.phases import Phase, PhaseTracker

_EVENT_LIMIT = 200
_OBSERVATION_LIMIT = 500
_BLOCK_SIZE = re.compile(r"Initialized DFLASH draft runner\..*\bblock_size=(\d+)")
# Words of every line that PhaseTracker knows; a bar moves only its fraction, which triage doesn't use.
_PHASE_WORDS = ("begin", "Load weight end", "Uvicorn running", "fired up", "SIGTERM", "Gracefully")
_SETTLING = (Sign.SIGQUIT, Sign.KILL_TREE, Sign.EXITED, Sign.CHILD_DIED)


@dataclass(frozen=True, slots=True)
class Observation:
    """A traceback, or a line that tells a failure by itself (`finding`), with the phase it came in."""

    phase: FailurePhase
    process: Process
    traceback: ParsedTraceback | None
    finding: Finding | None
    evidence: tuple[Evidence, ...]
    first_us: int | None
    last_us: int | None


class Run:
    """Feed it lines in order; `observations`, `events` and the signs of life and death are what it has seen."""

    def __init__(self, server_args: ServerArgs | None) -> None:
        self.observations: list[Observation] = []
        self.head: list[Event] = []
        self.tail: deque[Event] = deque(maxlen=_EVENT_LIMIT)
        self.ranks: dict[int, str] = {}
        self.names: dict[int, str] = {}
        self.last_lines: dict[int | None, Line] = {}
        self.facts = Facts(dict(server_args), GIVEN) if server_args else Facts()
        self.understood = False  # whether at least one line was of a kind that we know
        self.graceful = self.died = self.oom_killed = self.start_timed_out = False
        self.exit: tuple[str, int, str | None] | None = None
        self.result: str | None = None
        self.dead_children: dict[int, int] = {}
        self.alive: set[int] = set()  # processes that the server looked at after the crash: they weren't the dead ones
        self.death_lines: list[Evidence] = []
        self.stopped_us: int | None = None
        self._tracebacks = Tracebacks()
        self._tracker = PhaseTracker()
        self._heard_phase = False

    @property
    def events(self) -> tuple[Event, ...]:
        """The first and the last events, if there were more than are kept."""
        return (*self.head, *self.tail)

    @property
    def phase(self) -> FailurePhase:
        """Where the run is; unknown as long as no line told."""
        return FailurePhase(self._tracker.phase.value) if self._heard_phase else FailurePhase.UNKNOWN

    @property
    def serving(self) -> bool:
        """Whether it said that it serves, and not that it stops."""
        return self._tracker.phase is Phase.SERVING

    def feed(self, line: Line) -> bool:
        """Take a line; True if there is something new to judge."""
        prefix = read_prefix(line.text)
        entry = line.entry
        self.understood = self.understood or prefix.dated
        if prefix.rank and entry.pid is not None:
            self.ranks[entry.pid] = prefix.rank
            self.names[entry.pid] = entry.comm or ""
        if not line.progress:
            self.last_lines[entry.pid] = line
        before = len(self.observations)
        if self._tracebacks.busy or HEADER in line.text:
            self._observe(self._tracebacks.feed(line, prefix))
        if not line.progress:
            self._read_text(line, prefix.rest, prefix.dated)
        signs = self._read_sign(line, prefix.rest, prefix.dated)
        return signs or len(self.observations) > before

    def phase_line(self, entry: JournalEntry) -> None:
        """Take the entry as it came, for the phase: the tracker undoes bars and prefixes by itself."""
        message = entry.message
        if not any(word in message for word in _PHASE_WORDS):
            return
        if self._tracker.feed(message, (entry.monotonic_us or entry.realtime_us or 0) / 1e6):
            self._heard_phase = True
            self._event(Event(entry.realtime_us, "phase", self._tracker.segment))

    def settle(self, *, end: bool = False) -> bool:
        """Take what is complete (at the `end`: everything) from the traceback reader; True if there was something."""
        before = len(self.observations)
        self._observe(self._tracebacks.flush() if end else self._tracebacks.settle())
        return len(self.observations) > before

    def tick(self, now_us: int) -> bool:
        """The same for what is older than the settling time at `now_us`."""
        before = len(self.observations)
        self._observe(self._tracebacks.tick(now_us))
        return len(self.observations) > before

    def process(self, pid: int | None, rank: str | None, comm: str | None) -> Process:
        """A process with its rank: as printed now, or as it signed earlier lines."""
        return Process(pid, rank or (self.ranks.get(pid) if pid is not None else None), comm)

    def _observe(self, tracebacks: list[ParsedTraceback]) -> None:
        for item in tracebacks[: max(0, _OBSERVATION_LIMIT - len(self.observations))]:
            process = self.process(item.pid, item.rank, item.comm)
            phase = phase_of(item, self.phase)
            self.observations.append(Observation(phase, process, item, None, item.evidence, item.first_us, item.last_us))

    def _read_text(self, line: Line, rest: str, dated: bool) -> None:
        text = line.text
        if dated and MARK in text[:120]:
            args = parse_server_args(text)
            if args and self.facts.source != GIVEN:
                self.facts.server_args, self.facts.source = args, FROM_LOG
            self._heard_phase = True
        elif dated and "DFLASH" in text[:80]:
            found = _BLOCK_SIZE.match(rest)
            if found:
                self.facts.block_size = int(found[1])
        finding = match_line(rest)
        if finding and len(self.observations) < _OBSERVATION_LIMIT:
            process = self.process(line.entry.pid, None, line.entry.comm)
            at = line.entry.realtime_us
            self.observations.append(Observation(self.phase, process, None, finding, (evidence(line),), at, at))

    def _read_sign(self, line: Line, rest: str, dated: bool) -> bool:
        told = read_event(line, rest, dated=dated)
        if told is None:
            return False
        sign, match = told
        self.understood = True
        self._event(Event(line.entry.realtime_us, sign.value, rest.strip()[:500]))
        if sign is Sign.SIGTERM and not self.died:
            self.graceful, self.stopped_us = True, line.entry.realtime_us
        elif sign is Sign.SIGQUIT:
            self.died = self.died or not self.graceful
        elif sign is Sign.CHILD_DIED:
            self.dead_children[int(match["pid"])] = int(match["code"])
            self.died = self.died or not self.graceful
        elif sign is Sign.DIAGNOSTICS and match["alive"]:
            self.alive.add(int(match["alive"]))
        elif sign is Sign.EXITED:
            self.exit = (match["code"], int(match["status"]), match["name"])
            self.died = self.died or (not self.graceful and match["status"] != "0")
        elif sign is Sign.RESULT:
            self.result = match["result"]
        self.oom_killed = self.oom_killed or sign is Sign.OOM_KILL or self.result == "oom-kill"
        self.start_timed_out = self.start_timed_out or sign is Sign.START_TIMEOUT
        if sign in _SETTLING:
            self.death_lines.append(evidence(line))
            del self.death_lines[8:]
            self.settle()
        return sign in _SETTLING or sign is Sign.OOM_KILL or sign is Sign.START_TIMEOUT

    def _event(self, event: Event) -> None:
        (self.head if len(self.head) < _EVENT_LIMIT else self.tail).append(event)


def evidence(line: Line) -> Evidence:
    """A line as evidence; cut, for a line can be very long."""
    return Evidence(line.entry.cursor, line.number, line.entry.realtime_us, line.text.strip()[:2000])
