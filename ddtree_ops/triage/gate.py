"""From raw bytes to the diagnoser, without decoding what can't matter: a server's log is mostly the same few lines.

RE2 searches each block of bytes in one pass for everything that wakes the diagnoser. Records without any of it are only
counted. What is decoded:

- the first records of the log and the last ones;
- records that hold a literal of a recogniser, a signature, an event, a phase, or what the diagnoser awaits now;
- all records while the diagnoser or the form is in the middle of something;
- of a run's first processes the first log record of each, and the first with its rank: which processes write log records
  tells the launcher's words from quoted ones (run.py), and ranks name processes that die without a word;
- records that a form can't skip safely (binary fields, the manager's, parts of lines), so that nothing inside a message
  is ever taken for a record;
- up to `CONTEXT` records before each of these, and a few behind it, as long as these are rare.

The report is the same as without the gate, except that in a log where something is found in every few lines, the lines
quoted before a failure may be fewer. A literal that is cut by terminal sequences is found if those are colours (SGR).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol

import re2

from ddtree_ops.triage import blocks, events, last_words, server_args, signatures
from ddtree_ops.triage.bounded import Latest
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import UNREADABLE, JournalEntry
from ddtree_ops.triage.forms.numbers_but import dated
from ddtree_ops.triage.forms.read import sift_log
from ddtree_ops.triage.forms.sieve import Item, Spelling
from ddtree_ops.triage.only_unit import Units
from ddtree_ops.triage.prefixes import read_prefix
from ddtree_ops.units import phases

#: As many lines as are looked through for what a process wrote before its failure (recent.py).
CONTEXT = 256
_BEHIND = 16
_BEGINNING, _BEGINNING_SIZE = 100, 1 << 18
# Context is for failures, not for a line that happens to hold a literal a thousand times: it is paid from a credit
# that grows with what is left out, and given anyway after a long silence.
_CREDIT = 10_000
_SKIPPED_PER_CREDIT = 300
_SILENCE = 8192
_PROCESSES = 64  # of a run: after so many nothing more is asked of who hasn't spoken yet
_RUNS = 64
_TOKENS = re.compile(r"\w+|\s+|[^\w\s]")

LITERALS = tuple(
    dict.fromkeys(
        (
            *blocks.LITERALS,
            *signatures.LITERALS,
            *events.LITERALS,
            *phases.WORDS,
            server_args.MARK,
            last_words.MARK,
            "DFLASH draft runner",
        )
    )
)


def feed_through(
    diagnoser: Diagnoser, chunks: Iterable[bytes], *, now_us: int | None = None, units: Units | None = None
) -> Iterator[Item]:
    """Feed a log in whatever form; gives each entry after it was fed, and how many were left out in between.

    `now_us`: for times without a year (`read_log`). `units`: which unit's entries are fed. Raises what `read_log` raises.
    """
    gate = Gate(diagnoser, units)
    for item in sift_log(chunks, gate, now_us):
        gate.heard(item)
        for one in units.take(item) if units else (item,):
            yield _fed(diagnoser, one)
    for one in units.rest() if units else ():
        yield _fed(diagnoser, one)


def _fed(diagnoser: Diagnoser, item: Item) -> Item:
    if isinstance(item, JournalEntry):
        diagnoser.feed(item)
    else:
        diagnoser.skip(item.number, None)
    return item


class Wishes(Protocol):
    """What a gate asks a diagnoser, or who stands before several ones."""

    @property
    def attentive(self) -> bool: ...
    @property
    def awaited_pids(self) -> tuple[int, ...]: ...
    @property
    def awaited_words(self) -> tuple[bytes, ...]: ...


class Gate:
    """The sieve (forms/sieve.py) that wants what a diagnoser wants."""

    def __init__(self, diagnoser: Wishes, units: Units | None = None) -> None:
        self._diagnoser, self._units = diagnoser, units
        self._spelling = Spelling()
        self._fed, self._size, self._attentive_until = 0, 0, _BEGINNING
        self._credit, self._silence = float(_CREDIT), 0
        self._log_seen = False
        self._writers: dict[int, None] = {}
        self._ranked: dict[int, None] = {}
        self._runs: Latest[str, None] = Latest(_RUNS)
        self._wishes: tuple[object, ...] | None = None
        self._wished: re2._Regexp | None = None
        self._literals = _Literals(None)

    def begin(self, spelling: Spelling) -> None:
        """Told by the reader how the form writes what is looked for."""
        self._spelling = spelling
        self._literals = _Literals(_always(spelling.escape, spelling.always))

    @property
    def attentive(self) -> bool:
        """Whether the next record is wanted, whatever it says."""
        holding = self._units is not None and self._units.holds
        return self._fed < self._attentive_until or holding or self._diagnoser.attentive

    def find(self, data: bytes, start: int) -> int:
        """The place of a byte of the first wanted record, or -1; some expressions begin with the newline before it."""
        wishes = (
            self._diagnoser.awaited_pids,
            self._diagnoser.awaited_words,
            self._log_seen,
            *self._writers,
            None,
            *self._ranked,
        )
        if wishes != self._wishes:
            expressions = self._expressions()
            self._wishes, self._wished = wishes, _compiled(expressions) if expressions else None
        begin = max(0, start - 1)
        first, end = self._literals.find(data, begin)
        found = self._wished.search(data, begin, first) if self._wished else None
        end = found.end() if found else end
        return max(start, end - 1) if end >= 0 else -1

    def context(self, left_out: int) -> int:
        """How many of the left out records before a found one are wanted."""
        rare = self._credit >= CONTEXT or self._silence >= _SILENCE
        self._silence = 0
        if not rare:
            return 0
        given = CONTEXT if left_out else 0
        self._credit = max(0.0, self._credit - given - _BEHIND)
        self._attentive_until = max(self._attentive_until, self._fed + given + 1 + _BEHIND)
        return given

    def counted(self, number: int, data: bytes, start: int, end: int) -> int:
        """Of one unit: those that name it, and those that name none."""
        if self._units is None or self._spelling.units is None:
            return number
        naming = sum(data.count(words, start, end) for words in self._spelling.units(None))
        own = sum(data.count(words, start, end) for words in self._spelling.units(self._units.wanted))
        self._units.found = self._units.found or own > 0
        return max(0, number - naming + own)

    def last(self, data: bytes) -> int:
        """Of all records the last, or of the unit's. What stands before the end tells whether the server lived on."""
        self._credit = max(self._credit, CONTEXT)
        if self._units is None or self._spelling.units is None:
            return len(data) - 1
        return max(
            data.rfind(words) + len(words) - 1 if words in data else -1 for words in self._spelling.units(self._units.wanted)
        )

    def heard(self, item: Item) -> None:
        """Some records were left out, or an entry was let pass: whose it is needn't be asked again."""
        if isinstance(item, JournalEntry):
            self._heard_entry(item)
            return
        self._silence += item.number
        self._credit = min(_CREDIT, self._credit + item.number / _SKIPPED_PER_CREDIT)

    def _heard_entry(self, entry: JournalEntry) -> None:
        self._fed += 1
        self._size += len(entry.message)
        if self._size > _BEGINNING_SIZE and self._attentive_until == _BEGINNING:
            self._attentive_until = 0
        if entry.transport == UNREADABLE:
            return
        run = entry.invocation_id
        if run is not None and run not in self._runs:
            self._writers, self._ranked = {}, {}
            self._runs.keep(run, None)
        prefix = read_prefix(entry.message[:200])
        if prefix.dated:
            self._log_seen = True
            _remember(self._writers, entry.pid)
        if prefix.rank:
            _remember(self._ranked, entry.pid)

    def _expressions(self) -> list[bytes]:
        spelling, diagnoser = self._spelling, self._diagnoser
        found = list(map(re2.escape, diagnoser.awaited_words))
        if spelling.pid:
            found += map(spelling.pid, diagnoser.awaited_pids)
        for known, ranked in ((self._writers, False), (self._ranked, True)):
            if spelling.unheard and len(known) < _PROCESSES:
                found.append(spelling.unheard(frozenset(known), ranked))
        if not self._log_seen:
            found.append(dated(False))
        return found


class _Literals:
    """What is always looked for, while wishes change with every new process.

    The place found is remembered, so that a block is looked through once, however often it is asked about.
    """

    def __init__(self, pattern: re2._Regexp | None) -> None:
        self._pattern = pattern
        self._data, self._from, self._found = b"", 0, (0, -1)

    def find(self, data: bytes, begin: int) -> tuple[int, int]:
        """Where the first one begins and ends; the end of the data and -1 without any."""
        if data is not self._data or not self._from <= begin <= self._found[0]:
            found = self._pattern.search(data, begin) if self._pattern else None
            self._found = (found.start(), found.end()) if found else (len(data), -1)
            self._data, self._from = data, begin
        return self._found


@lru_cache(4)
def _always(escape: bytes, always: tuple[bytes, ...]) -> re2._Regexp:
    """Of all logs in one form: compiling it takes milliseconds, as long as a short log takes to read."""
    return _compiled([*(_coloured(literal, escape) for literal in LITERALS), *always])


def _compiled(expressions: list[bytes]) -> re2._Regexp:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.never_capture, options.log_errors = True, False
    pattern = re2.compile(b"|".join(expressions), options)
    re2.purge()  # its cache would keep every pattern that there ever was, with its tables
    return pattern


def _coloured(literal: str, escape: bytes) -> bytes:
    """The literal with colours in and between its words: `rich` and others highlight numbers, names, brackets."""
    colour = rb"(?:%s\[[\d;]*m)*" % escape
    return colour.join(re2.escape(token.encode()) for token in _TOKENS.findall(literal))


def _remember(known: dict[int, None], pid: int | None) -> None:
    if pid is not None and len(known) < _PROCESSES:
        known[pid] = None
