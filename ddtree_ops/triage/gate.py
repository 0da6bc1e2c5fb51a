"""From raw bytes to the diagnoser, without decoding what can't matter: a server's log is mostly the same few lines.

RE2 searches each block of bytes in one pass for everything that wakes the diagnoser. Records without any of it are only
counted. What is decoded:

- the first records of the log and the last ones;
- records that hold a literal of a recogniser, a signature, an event, a phase, or what the diagnoser awaits now;
- all records while the diagnoser or the form is in the middle of something;
- the first log record of each process, and the first with its rank: which processes write log records tells the
  launcher's words from quoted ones (run.py), and ranks name processes that die without a word;
- records that a form can't skip safely (binary fields, the manager's, parts of lines), so that nothing inside a message
  is ever taken for a record;
- up to `CONTEXT` records before each of these, and a few behind it, as long as these are rare.

The report is the same as without the gate, except that in a log where something is found in every few lines, the lines
quoted before a failure may be fewer. A literal that is cut by terminal sequences is found if those are colours (SGR).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

import re2

from ddtree_ops.triage import blocks, events, last_words, server_args, signatures
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
_PROCESSES = 256
_RUNS = 64
_Key = TypeVar("_Key")
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


class Gate:
    """The sieve (forms/sieve.py) that wants what a diagnoser wants."""

    def __init__(self, diagnoser: Diagnoser, units: Units | None = None) -> None:
        self._diagnoser, self._units = diagnoser, units
        self._spelling = Spelling()
        self._fed, self._size, self._attentive_until = 0, 0, _BEGINNING
        self._credit, self._silence = float(_CREDIT), 0
        self._log_seen = False
        self._writers: dict[int, None] = {}
        self._ranked: dict[int, None] = {}
        self._runs: dict[str, None] = {}
        self._wishes: tuple[object, ...] = ()
        self._pattern = _compiled([])
        self._literals: list[bytes] = []

    def begin(self, spelling: Spelling) -> None:
        """Told by the reader how the form writes what is looked for."""
        self._spelling = spelling
        self._literals = [*(_coloured(literal, spelling.escape) for literal in LITERALS), *spelling.always]

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
            self._wishes, self._pattern = wishes, _compiled(self._expressions())
        found = self._pattern.search(data, max(0, start - 1))
        return max(start, found.end() - 1) if found else -1

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
            _remember(self._runs, run, _RUNS)
        prefix = read_prefix(entry.message[:200])
        if prefix.dated:
            self._log_seen = True
            if entry.pid is not None:
                _remember(self._writers, entry.pid, _PROCESSES)
        if prefix.rank and entry.pid is not None:
            _remember(self._ranked, entry.pid, _PROCESSES)

    def _expressions(self) -> list[bytes]:
        spelling, diagnoser = self._spelling, self._diagnoser
        found = [*self._literals, *map(re2.escape, diagnoser.awaited_words)]
        if spelling.pid:
            found += map(spelling.pid, diagnoser.awaited_pids)
        if spelling.unheard:
            found += (spelling.unheard(frozenset(self._writers), False), spelling.unheard(frozenset(self._ranked), True))
        if not self._log_seen:
            found.append(dated(False))
        return found


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


def _remember(known: dict[_Key, None], key: _Key, limit: int) -> None:
    """Keep the latest `limit` keys."""
    known.pop(key, None)
    known[key] = None
    if len(known) > limit:
        del known[next(iter(known))]
