"""Many hosts at once: a thread for each, all looked at first, then let go in turns; every one that began also ends.

The caller's thread decides and asks; host threads only run their job and wait for their turn. The first interruption lets no
host begin any more and ends the running ones at their next step; each host's report says where it stands. The second one waits
no longer than it takes to ask the hosts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.fleet.plan import Plan
from ddtree_ops.flows import rollout_reports
from ddtree_ops.flows.interrupted import interrupted
from ddtree_ops.flows.progress import HostEnded, HostWaits, News, StepEnded, Tell
from ddtree_ops.flows.schedule import Policy, Schedule
from ddtree_ops.report.deployment import DeploymentReport, Step

HURRY_SECONDS = 3.0


@dataclass(frozen=True)
class _Planned:
    host: str
    plan: Plan


@dataclass(frozen=True)
class _Ended:
    host: str
    report: DeploymentReport


class _Interrupted:
    """Somebody pressed Ctrl-C."""


_Event = _Planned | _Ended | _Interrupted


class Turn:
    """What a host's job gets: where to tell its progress, and the question whether it may change the host now."""

    def __init__(self, host: str, events: SimpleQueue[_Event], tell: Tell, interrupted: threading.Event) -> None:
        self.host = host
        self.steps: list[Step] = []
        self.begun = False
        self._events = events
        self._tell = tell
        self._interrupted = interrupted
        self._answer: SimpleQueue[bool] = SimpleQueue()

    def confirm(self, plan: Plan) -> bool:
        """Wait for this host's turn. False: it must not be changed."""
        self._events.put(_Planned(self.host, plan))
        self.begun = self._answer.get()
        return self.begun

    def answer(self, go: bool) -> None:
        """For confirm(), which waits in the host's thread."""
        self._answer.put(go)

    def tell(self, news: News) -> None:
        """Raises KeyboardInterrupt after an interruption, except while a step ends: what holds something lets go of it."""
        if isinstance(news, StepEnded):
            self.steps.append(news.step)
        elif self._interrupted.is_set():
            raise KeyboardInterrupt("interrupted")
        self._tell(news)


Job = Callable[[Turn], DeploymentReport]


class Rollout:
    """Runs `job` for every host.

    `approve` gets all plans at once, before the first host changes. `on_begin` gets the hosts whose turn it is, before they
    know of it. `on_interrupt` ends what host threads can't end themselves (a playbook that runs).
    """

    def __init__(
        self,
        hosts: Sequence[str],
        policy: Policy,
        job: Job,
        tell: Tell,
        *,
        approve: Callable[[Sequence[Plan]], bool] = lambda _plans: True,
        on_begin: Callable[[Sequence[str]], None] = lambda _hosts: None,
        on_interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self._hosts = tuple(hosts)
        self._schedule = Schedule(hosts, policy)
        self._job = job
        self._approve = approve
        self._on_begin = on_begin
        self._on_interrupt = on_interrupt
        self._interrupted = threading.Event()
        self._deadline: float | None = None  # after the second interruption
        self._events: SimpleQueue[_Event] = SimpleQueue()
        self._tell = tell
        self._turns = {host: Turn(host, self._events, tell, self._interrupted) for host in self._hosts}
        self._plans: dict[str, Plan] = {}
        self._reports: dict[str, DeploymentReport] = {}

    @property
    def interrupted(self) -> bool:
        return self._interrupted.is_set()

    def interrupt(self) -> None:
        """Begin no more hosts, end the running ones; again: hurry. Safe in a signal handler (SimpleQueue.put is reentrant)."""
        self._events.put(_Interrupted())

    def run(self) -> tuple[DeploymentReport, ...]:
        """All reports, in the order of the hosts."""
        try:
            self._look()
            while not self._schedule.over and (event := self._next()) is not None:
                self._take(event)
        except BaseException:
            self._interrupted.set()
            self._answer(self._schedule.waiting, go=False)
            raise
        return tuple(self._reports.get(host) or self._without(host) for host in self._hosts)

    def _next(self) -> _Event | None:
        """None: it takes too long now."""
        if self._deadline is None:
            return self._events.get()
        try:
            return self._events.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except Empty:
            return None

    def _without(self, host: str) -> DeploymentReport:
        """A host that wrote no report of its own."""
        turn = self._turns[host]
        if turn.begun:
            return interrupted(host, None, turn.steps)
        return rollout_reports.not_begun(host, self._schedule.stopped or "")

    def _take(self, event: _Event) -> None:
        if isinstance(event, _Interrupted):
            self._interrupt()
        elif isinstance(event, _Planned):
            self._plans[event.host] = event.plan
            self._schedule.planned(event.host)
            self._tell(HostWaits(event.host, len(event.plan.changes)))
            self._look()
        else:
            self._end(event)
            self._look()
        if self._schedule.stopped is not None:
            self._answer(self._schedule.waiting, go=False)
        elif begins := tuple(self._schedule.begins()):
            self._on_begin(begins)
            self._answer(begins, go=True)

    def _interrupt(self) -> None:
        if self._interrupted.is_set():
            self._deadline = self._deadline or time.monotonic() + HURRY_SECONDS
        else:
            self._schedule.stop("interrupted")
            self._interrupted.set()
            self._on_interrupt()

    def _look(self) -> None:
        for host in self._schedule.looks():
            threading.Thread(target=self._work, args=(self._turns[host],), name=host, daemon=True).start()
        waiting = self._schedule.waiting
        if waiting and self._plans and self._schedule.all_seen and self._schedule.stopped is None:
            plans, self._plans = [self._plans[host] for host in waiting], {}
            if self._approve(plans):
                self._schedule.approve()
            else:
                self._answer(waiting, go=False)

    def _end(self, event: _Ended) -> None:
        turn = self._turns[event.host]
        report = event.report
        if self._schedule.stopped is not None and not turn.begun and report.exit_code != 0:
            report = rollout_reports.not_begun(event.host, self._schedule.stopped, report)
        self._reports[event.host] = report
        self._schedule.ended(event.host, well=report.exit_code == 0)
        self._tell(HostEnded(event.host, report))

    def _answer(self, hosts: Iterable[str], *, go: bool) -> None:
        for host in hosts:
            self._turns[host].answer(go)

    def _work(self, turn: Turn) -> None:
        """One host's thread: whatever happens in it, a report comes out."""
        try:
            report = self._job(turn)
        except KeyboardInterrupt:
            report = interrupted(turn.host, None, turn.steps)
        except DdtreeOpsError as error:
            report = rollout_reports.failed(turn.host, error, turn.steps)
        except BaseException as error:  # noqa: BLE001 - a mistake of ours must not hang the other hosts
            report = rollout_reports.crashed(turn.host, error, turn.steps)
        self._events.put(_Ended(turn.host, report))
