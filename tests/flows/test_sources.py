"""The sources of readiness news over a shell that breaks: a short outage is survived, a long one told, nothing vanishes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from ddtree_ops.adapters.clock import SystemClock
from ddtree_ops.errors import HostCommandFailed, Unreachable
from ddtree_ops.flows import journal_follow, retrying
from ddtree_ops.flows.progress import LoadNews, News
from ddtree_ops.flows.sources import Source, Sources
from ddtree_ops.flows.switching import restart_and_wait
from ddtree_ops.ports import Command, Completed, HttpRequest, HttpResponse, Stream
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.units.readiness import Ready
from tests.flows.host_model import ModelShell, ModelStream
from tests.flows.test_deploy import server, serving_old

ENTRY = "__CURSOR=c{0}\n__REALTIME_TIMESTAMP={0}500000\nMESSAGE=line {0}\n\n"
UNIT = "LoadState=loaded\nActiveState=activating\n"


@dataclass
class BreakingShell:
    """Each stream is the next of `streams`: text to hand over before the connection breaks, or an error to raise."""

    streams: list[str | Exception]
    asked: list[tuple[str, ...]] = field(default_factory=list)
    host: str = "ct200"
    show: Callable[[], str] = lambda: UNIT

    def run(self, command: Command) -> Completed:
        return Completed(command, 0, self.show(), "", 0.0)

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        self.asked.append(argv)
        step = self.streams.pop(0) if self.streams else ""
        if isinstance(step, Exception):
            raise step
        yield ModelStream(step.encode(), follow=not step)
        if step:
            raise Unreachable("ct200: the connection was lost")


class NoHttp:
    def request(self, request: HttpRequest) -> HttpResponse:
        return HttpResponse(0, b"", 0.0)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_follow, "RECONNECT_SECONDS", 0.01)
    monkeypatch.setattr(retrying, "LOST_AFTER_SECONDS", 0.2)


def read(shell: BreakingShell, wanted: Callable[[Source], bool], count: int) -> list[Source]:
    running = Sources(shell, NoHttp(), SystemClock(), "u.service", 30000, None)
    running.start(("journalctl", "first"))
    try:
        return list(itertools.islice(filter(wanted, _news(running)), count))
    finally:
        running.close()


def _news(running: Sources) -> Iterator[Source]:
    while (one := running.get(5.0)) is not None:
        yield one


def test_the_journal_goes_on_after_each_of_many_cuts() -> None:
    shell = BreakingShell([ENTRY.format(number) for number in range(1, 40)])
    entries = read(shell, lambda one: isinstance(one, JournalEntry), 39)
    assert [one.message for one in entries if isinstance(one, JournalEntry)] == [f"line {number}" for number in range(1, 40)]
    assert "--after-cursor=c1" in shell.asked[1]


def test_an_outage_is_told_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, told, left = serving_old(), list[str](), [5]
    restart, run = model.restart, ModelShell.run

    def loads() -> None:
        restart()
        model.active = "activating"

    def cut(shell: ModelShell, command: Command) -> Completed:
        if model.active == "activating" and command.argv[:2] == ("systemctl", "show"):
            left[0] -= 1
            if left[0] > 1:
                raise Unreachable("no connection")
            if left[0] < 1:
                model.active = "active"
        return run(shell, command)

    def tell(news: News) -> None:
        if isinstance(news, LoadNews):
            told.append(news.waiting.segment)

    monkeypatch.setattr(retrying, "LOST_AFTER_SECONDS", 90.0)
    monkeypatch.setattr(ModelShell, "run", cut)
    model.restart = loads  # type: ignore[method-assign]
    assert isinstance(restart_and_wait(replace(server(model), clock=SystemClock()), tell).verdict, Ready)
    assert "connection lost, asking again" in told
    assert told[-1] != "connection lost, asking again"


def test_a_lost_cursor_is_taken_up_by_time() -> None:
    shell = BreakingShell([ENTRY.format(1), HostCommandFailed("Failed to seek to cursor"), ENTRY.format(2)])
    entries = read(shell, lambda one: isinstance(one, JournalEntry), 2)
    assert len(entries) == 2
    assert "--since=@1.500000" in shell.asked[2]


def test_a_long_outage_is_told() -> None:
    shell = BreakingShell([Unreachable("ct200: no connection")] * 500)
    (error,) = read(shell, lambda one: isinstance(one, Exception), 1)
    assert isinstance(error, Unreachable)


def test_an_unforeseen_error_in_a_thread_reaches_the_waiting_one() -> None:
    def broken() -> str:
        raise ValueError("nobody foresaw this")

    shell = BreakingShell([], show=broken)
    (error,) = read(shell, lambda one: isinstance(one, Exception), 1)
    assert isinstance(error, ValueError)
