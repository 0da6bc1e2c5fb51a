"""One run of the server (one invocation of the unit), as the log tells it so far."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ddtree_ops.triage.block import Block, Evidence
from ddtree_ops.triage.blocks import RECOGNISERS
from ddtree_ops.triage.bounded import Latest
from ddtree_ops.triage.events import Sign, read_event
from ddtree_ops.triage.fate import Fate
from ddtree_ops.triage.last_words import LastWords, read_last_words
from ddtree_ops.triage.lines import Line, Prefix, line_block, read_prefix, shortened
from ddtree_ops.triage.model import Event, FailurePhase, Finding, Process
from ddtree_ops.triage.numbers import Facts
from ddtree_ops.triage.phase_of import phase_of
from ddtree_ops.triage.recent import LIFE_WORDS, Recent, signs_life
from ddtree_ops.triage.server_args import MARK, parse_server_args
from ddtree_ops.triage.signatures import match_line
from ddtree_ops.units.exit_codes import ExitCode
from ddtree_ops.units.phases import Phase, PhaseTracker, may_matter

_EVENT_LIMIT = 200
_PROCESS_LIMIT = 512  # of more the latest are known
_OBSERVATION_LIMIT = 500
_BLOCK_SIZE = re.compile(r"Initialized DFLASH draft runner\..{0,2000}?\bblock_size=(\d{1,9})\b")
# Ansible's summary of a play for a host
_CLEAN_RECAP = re.compile(r": ok=\d{1,6} .{0,80}unreachable=0 .{0,20}failed=0\b")
_SETTLING = (Sign.SIGQUIT, Sign.KILL_TREE, Sign.EXITED, Sign.CHILD_DIED)
_ATTENTION = 40  # lines that are read after something was seen: consequences follow closely
_UNDECIDED_LIMIT = 16
_BUSY_LIMIT = 4000  # lines: a process that was killed in mid-traceback never ends it
_LIFE_SIGNS = 5


@dataclass(frozen=True, slots=True)
class Observation:
    """A block with the phase it came in. `finding`: known already, for a line that tells a failure by itself.

    `context`: what its process wrote right before.
    """

    phase: FailurePhase
    process: Process
    block: Block
    finding: Finding | None = None
    context: tuple[Evidence, ...] = ()


class Run:
    """Feed it lines in order; `observations`, `events` and the signs of life and death are what it has seen."""

    def __init__(self) -> None:
        self.observations: list[Observation] = []
        self.head: list[Event] = []
        self.tail: deque[Event] = deque(maxlen=_EVENT_LIMIT)
        self.ranks: Latest[int, str] = Latest(_PROCESS_LIMIT)
        self.names: Latest[int, str] = Latest(_PROCESS_LIMIT)
        self.last_lines: Latest[int | None, Line] = Latest(_PROCESS_LIMIT)
        self.facts = Facts()
        self.understood = False  # whether at least one line was of a kind that we know
        self.fate = Fate()
        self.first_us: int | None = None
        self.began_us: int | None = None  # of its first line that a process of its own wrote
        self.unit: str | None = None  # of those processes
        self.last_words: LastWords | None = None
        self._remark: LastWords | None = None
        self._loggers: Latest[int, None] = Latest(_PROCESS_LIMIT)  # they write dated records: none of them is the launcher
        self._recognisers = tuple(make() for make in RECOGNISERS)
        self._recent = Recent()
        self._undecided: set[int] = set()  # processes of bare tracebacks: do they speak again?
        self._life: deque[int] = deque(maxlen=_LIFE_SIGNS)  # the lines of the latest ones
        self.clean_recap = False  # a play of Ansible ended without a failed task
        self._ready_line: int | None = None  # where it said that it serves
        self._attention = 0
        self._busy_for = 0  # lines for which a recogniser has been in the middle of something
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

    @property
    def shows_life(self) -> bool:
        """Whether a server is seen that works, or was stopped in peace."""
        return self._ready_line is not None or self.fate.graceful or bool(self._life)

    @property
    def busy(self) -> bool:
        """Whether it is in the middle of what may be a failure."""
        return any(recogniser.busy for recogniser in self._recognisers)

    @property
    def suspicion(self) -> int:
        """Grows with everything that may be a failure or a part of one."""
        return len(self.observations) + len(self.fate.lines) + self.fate.died

    @property
    def attentive(self) -> bool:
        """Whether the next line is needed, whatever it says."""
        return self._attention > 0 or 0 < self._busy_for < _BUSY_LIMIT

    @property
    def awaited_pids(self) -> tuple[int, ...]:
        """Processes that left a bare traceback: whether they speak again tells whether it ended them."""
        return tuple(self._undecided)

    @property
    def awaited_words(self) -> tuple[bytes, ...]:
        """What a server prints that goes on in spite of a failure, as long as that isn't known."""
        return LIFE_WORDS if self.observations and not self.lived_on(self.observations[-1]) else ()

    def lived_on(self, observation: Observation) -> bool:
        """Whether the server went on with its work after it: a dying one may still print a line or two."""
        last = max((item.line for item in observation.block.evidence if item.line is not None), default=0)
        ready = self._ready_line is not None and self._ready_line > last
        return ready or (len(self._life) == _LIFE_SIGNS and self._life[0] > last)

    def feed(self, line: Line) -> None:
        """Take a line."""
        self._attention = max(0, self._attention - 1)
        prefix = read_prefix(line.text)
        entry = line.entry
        self.first_us = self.first_us or entry.realtime_us
        if entry.pid is not None:
            self._undecided.discard(entry.pid)
            if entry.pid > 1:
                self.began_us = self.began_us or entry.realtime_us
                self.unit = self.unit or entry.unit
        self.understood = self.understood or prefix.dated
        if prefix.rank and entry.pid is not None and self.ranks.get(entry.pid) != prefix.rank:
            self.ranks.keep(entry.pid, prefix.rank)
            self.names.keep(entry.pid, entry.comm or "")
        if not line.progress:
            self.last_lines.keep(entry.pid, shortened(line))
            if signs_life(prefix.rest):
                self._life.append(line.number)
        for recogniser in self._recognisers:
            self._observe(recogniser.feed(line, prefix))
        self._busy_for = self._busy_for + 1 if any(one.busy for one in self._recognisers) else 0
        if not line.progress:
            self._read_text(line, prefix.rest, prefix.dated)
            self._read_words(line, prefix.dated)
        self._read_sign(line, prefix.rest, prefix.dated)
        self._read_phase(line, prefix)
        self._recent.add(line)

    def finish(self) -> None:
        """Take what the recognisers still hold, at the end of the log."""
        for recogniser in self._recognisers:
            self._observe(recogniser.flush())

    def process(self, pid: int | None, rank: str | None, comm: str | None) -> Process:
        """A process with its rank: as printed now, or as it signed earlier lines."""
        return Process(pid, rank or (self.ranks.get(pid) if pid is not None else None), comm)

    def _observe(self, blocks: Sequence[Block]) -> None:
        for block in blocks:
            self._note(block, phase_of(block, self.phase))
            if block.pid is not None and not block.record and len(self._undecided) < _UNDECIDED_LIMIT:
                self._undecided.add(block.pid)

    def _note(self, block: Block, phase: FailurePhase, finding: Finding | None = None) -> None:
        self._attention, self._busy_for = _ATTENTION, 0
        if len(self.observations) < _OBSERVATION_LIMIT:
            process = self.process(block.pid, block.rank, block.comm)
            context = self._recent.before(block)
            self.observations.append(Observation(phase, process, block, finding, context))

    def _read_text(self, line: Line, rest: str, dated: bool) -> None:
        text = line.text
        if dated and MARK in text[:120]:
            args = parse_server_args(text)
            if args:
                self.facts.server_args = args
            self._heard_phase = True
        elif dated and "DFLASH" in text[:80]:
            found = _BLOCK_SIZE.match(rest)
            if found:
                self.facts.block_size = int(found[1])
        if "unreachable=0" in rest and _CLEAN_RECAP.search(rest):
            self.clean_recap = True
        finding = match_line(rest)
        if finding:
            self._note(line_block(line, rest), self.phase, finding)

    def _read_words(self, line: Line, dated: bool) -> None:
        """The last ones count. A line that says not how it ended is a refusal if systemd then sees that exit status."""
        pid = line.entry.pid
        if dated and pid is not None:
            self._loggers.keep(pid, None)
        words = None if dated or pid in self._loggers else read_last_words(line)
        if words is not None and not words.how:
            self._remark = words
        elif words is not None:
            self.last_words = words
            self.fate.died = self.understood = True

    def _read_phase(self, line: Line, prefix: Prefix) -> None:
        """Of log records only: anything else may be quoted text."""
        if not prefix.dated or not may_matter(prefix.rest):
            return
        at = (line.entry.monotonic_us or line.entry.realtime_us or 0) / 1e6
        if self._tracker.feed_line(prefix.rest, prefix.leading, at):
            self._heard_phase = True
            self._event(Event(line.entry.realtime_us, "phase", self._tracker.segment))
            if self.serving:
                self._ready_line = line.number

    def _read_sign(self, line: Line, rest: str, dated: bool) -> None:
        told = read_event(line, rest, dated=dated)
        if told is None or self._is_of_another_unit(line):
            return
        self.understood = True
        self._attention = _ATTENTION
        self._event(Event(line.entry.realtime_us, told.sign.value, rest.strip()[:500]))
        self.fate.take(told, line)
        if told.sign is Sign.EXITED and self._remark and self.last_words is None and self._refused():
            self.last_words = replace(self._remark, how="refused")
        if told.sign in _SETTLING:
            for recogniser in self._recognisers:
                self._observe(recogniser.settle())

    def _is_of_another_unit(self, line: Line) -> bool:
        """What the manager says of others: they are stopped, and fail, too."""
        unit = line.entry.unit
        return line.entry.pid == 1 and unit is not None and self.unit is not None and unit != self.unit

    def _refused(self) -> bool:
        return self.fate.exit is not None and self.fate.exit[1] == ExitCode.REFUSED

    def _event(self, event: Event) -> None:
        (self.head if len(self.head) < _EVENT_LIMIT else self.tail).append(event)
