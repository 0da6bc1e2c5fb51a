"""From journal entries to a diagnosis."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

from ddtree_ops.triage.entry import UNREADABLE, JournalEntry
from ddtree_ops.triage.judge import judge
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.lines import LineAssembler
from ddtree_ops.triage.model import (
    RECOVERED,
    UNFINISHED,
    UNREADABLE_INPUT,
    Diagnosis,
    Event,
    Failure,
    FailurePhase,
    Role,
    Verdict,
)
from ddtree_ops.triage.numbers import Facts, together
from ddtree_ops.triage.run import Run
from ddtree_ops.triage.runs import Runs

_GAP_LIMIT = 20


class Diagnoser:
    """Feed it a log's entries in order, as they come; `finish()` gives the diagnosis.

    Whoever reads raw bytes may leave entries out (`skip`) that hold none of the known literals (gate.py), as long as
    nothing is `attentive` and none of the `awaited` words or process ids comes.
    `facts`: what is known of the configuration from elsewhere (/server_info); the log's own arguments don't overrule it.
    `now_us`: for times without a year that programs wrote before their lines (own_times.py).
    """

    def __init__(self, facts: Facts | None = None, now_us: int | None = None) -> None:
        self._runs = Runs()
        self._assembler = LineAssembler(now_us)
        self._facts = facts
        self._entries = 0
        self._since: int | None = None
        self._until: int | None = None
        self._unit: str | None = None
        self._gaps: list[Event] = []

    def feed(self, entry: JournalEntry) -> None:
        """Take an entry."""
        if entry.transport == UNREADABLE:
            self._gaps += [Event(entry.realtime_us, UNREADABLE_INPUT, entry.message)][: _GAP_LIMIT - len(self._gaps)]
            return
        self._entries += 1
        if entry.realtime_us is not None:
            self._since = self._since or entry.realtime_us
            self._until = entry.realtime_us
        self._unit = self._unit or entry.unit
        self._runs.choose(entry)
        for line in self._assembler.feed(entry):
            self._since = self._since or line.entry.realtime_us
            self._until = line.entry.realtime_us or self._until
            self._runs.turn_where_it_begins_anew(line)
            self._runs.current.feed(line)

    def skip(self, count: int, until_us: int | None) -> None:
        """Entries that were left out, and the time of the last of them."""
        self._entries += count
        self._assembler.skip(count)
        self._until = until_us or self._until

    @property
    def attentive(self) -> bool:
        """Whether the next entry is needed, whatever it says."""
        return self._assembler.holds or self._runs.current.attentive

    @property
    def awaited_pids(self) -> tuple[int, ...]:
        """Processes whose next line is needed: it tells that they live."""
        return (*self._runs.current.awaited_pids, *self._assembler.held)

    @property
    def awaited_words(self) -> tuple[bytes, ...]:
        """Words whose next line is needed: it tells that the server goes on."""
        return self._runs.current.awaited_words

    @property
    def busy(self) -> bool:
        """Whether it is in the middle of what may be a failure."""
        return any(run.busy for run in self._runs.all())

    @property
    def suspicion(self) -> int:
        """Grows with everything that may be a failure or a part of one; what recognisers still hold isn't in it."""
        return sum(run.suspicion for run in self._runs.all())

    @property
    def serving(self) -> bool:
        """Whether the current run said that it serves, and not that it stops."""
        return self._runs.current.serving

    @property
    def died(self) -> bool:
        """Whether something says that a run died: SGLang, its launcher or systemd."""
        return any(run.fate.died for run in self._runs.all())

    @property
    def at_peace(self) -> bool:
        """Whether the server works, and went on after everything that it showed: nothing of it needs to be judged again."""
        run = self._runs.current
        ends = run.fate.died or run.fate.graceful or run.fate.over
        if ends or not run.shows_life or self.busy or self._assembler.holds:
            return False
        return all(run.lived_on(item) for item in run.observations)

    def so_far(self) -> Diagnosis:
        """The diagnosis if nothing more came; reading goes on."""
        return copy.deepcopy(self).finish()

    def finish(self) -> Diagnosis:
        """The diagnosis of everything fed; nothing can be fed after it."""
        for line in self._assembler.flush():
            self._runs.of_line(line).feed(line)
        runs = self._runs.all()
        for run in runs:
            run.finish()
            run.facts = together(self._facts, run.facts) if self._facts else run.facts
        failures = _merge(_limits_last([failure for run in runs for failure in judge(run)]))
        return Diagnosis(
            verdict=_verdict(failures, runs),
            failures=failures,
            events=(*self._gaps, *_remarks(failures, runs), *(event for run in runs for event in run.events)),
            lines_read=self._entries,
            since_us=self._since,
            until_us=self._until,
            invocation=self._runs.invocation,
            unit=next((run.unit for run in runs if run.unit), self._unit),
        )


def _verdict(failures: tuple[Failure, ...], runs: list[Run]) -> Verdict:
    """A failed request or task is no failure of a server that lives; where nothing shows one, it is all that is known.

    A start that hasn't come to its end says neither.
    """
    lives = any(run.shows_life for run in runs)
    if any(item.role is Role.ROOT or (not lives and _of_a_living(item)) for item in failures):
        return Verdict.FAILURE
    peace = lives or any(run.clean_recap for run in runs) or (failures and not _unfinished(runs[-1]))
    return Verdict.NO_FAILURE if peace else Verdict.INCONCLUSIVE


def _unfinished(run: Run) -> bool:
    return not run.shows_life and run.phase is not FailurePhase.UNKNOWN


def _of_a_living(failure: Failure) -> bool:
    return failure.role is Role.REQUEST or failure.kind is Kind.BACKGROUND_TASK_ERROR


def _remarks(failures: tuple[Failure, ...], runs: list[Run]) -> Iterator[Event]:
    """What has to be known of the whole beside its failures."""
    last = runs[-1]
    roots = [item for item in failures if item.role is Role.ROOT]
    later = [run for run in runs[1:] if run.shows_life and not run.fate.died]
    if roots and last in later and all(_before(item, last) for item in roots):
        yield Event(last.first_us, RECOVERED, "this failure is of an earlier run: the one that began after it works")
    if not failures and _unfinished(last):
        yield Event(None, UNFINISHED, f"the log ends during {last.phase.value.replace('_', ' ')}: the server wasn't ready yet")


def _before(failure: Failure, run: Run) -> bool:
    return failure.last_us is not None and run.first_us is not None and failure.last_us <= run.first_us


def _limits_last(failures: list[Failure]) -> list[Failure]:
    """That systemd starts a unit no more ends a row of failures: it is no root where one of them is known."""
    limits = [item for item in failures if item.role is Role.ROOT and item.kind is Kind.SYSTEMD_START_LIMIT]
    if not any(item.role is Role.ROOT and item not in limits for item in failures):
        return failures
    return [replace(item, role=Role.CONSEQUENCE) if item in limits else item for item in failures]


def _merge(failures: list[Failure]) -> tuple[Failure, ...]:
    """Equal failures of several runs (a restart loop) become one. Different runs may each have a root, in order of time."""
    found: dict[tuple[str, Role], Failure] = {}
    for item in failures:
        name = (item.fingerprint, item.role)
        known = found.get(name)
        if known is None:
            found[name] = item
            continue
        processes = tuple(dict.fromkeys((*known.processes, *item.processes)))
        found[name] = replace(known, count=known.count + item.count, last_us=item.last_us, processes=processes)
    return tuple(sorted(found.values(), key=lambda item: item.order))
