"""What a live table knows and which rows fit a small terminal."""

from __future__ import annotations

from ddtree_ops.cli.board import Board, Row, Where
from ddtree_ops.cli.table import Column, fitting
from ddtree_ops.flows.progress import HostEnded, HostWaits, LoadNews, StepEnded, StepStarted, TaskNews
from ddtree_ops.ports import TaskResult, TaskState
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Step, StepState
from ddtree_ops.units.readiness import Waiting

THIRTY = tuple(f"gpu{number:02}" for number in range(30))


def ended(host: str, outcome: Outcome, code: int) -> HostEnded:
    return HostEnded(host, DeploymentReport(host, outcome, code, "new", "old", "new", 12.0, ()))


def row(board: Board, host: str, now: float = 0.0) -> Row:
    return next(one for one in board.rows(now, 100) if one.host == host)


def test_a_host_from_first_look_to_verdict() -> None:
    board = Board(("a",))
    assert row(board, "a").where is Where.NOT_YET
    board.take(StepStarted("a", "look"), 10.0)
    assert (row(board, "a", 13.0).step, row(board, "a", 13.0).seconds) == ("look", 3.0)
    board.take(StepEnded("a", Step("look", StepState.OK, 3.0, "current none")), 13.0)
    assert row(board, "a", 13.0).detail == "current none"
    board.take(HostWaits("a", 2), 13.0)
    assert (row(board, "a", 15.0).where, row(board, "a", 15.0).detail) == (Where.WAITING, "2 changes, waits for its turn")
    board.take(StepStarted("a", "stage"), 20.0)
    board.take(TaskNews("a", TaskResult("a", "runtime", "Install", TaskState.STARTED)), 20.0)
    assert row(board, "a").detail == "runtime : Install"
    board.take(TaskNews("a", TaskResult("a", "runtime", "Install", TaskState.OK)), 21.0)
    assert row(board, "a").detail == "runtime : Install"
    board.take(StepStarted("a", "wait"), 22.0)
    board.take(LoadNews("a", Waiting("weights", 41, 20, 12.0)), 22.0)
    assert (row(board, "a").done, row(board, "a").detail) == (12 / 32, "weights 41%  0:12 elapsed, about 0:20 left")
    board.take(ended("a", Outcome.DEPLOYED, 0), 60.0)
    last = row(board, "a", 99.0)
    assert (last.where, last.detail, last.seconds, last.done) == (Where.DONE, "serves new", 12.0, None)


def test_thirty_hosts_on_a_small_terminal() -> None:
    board = Board(THIRTY)
    for host in THIRTY[:20]:
        board.take(HostWaits(host, 1), 0.0)
    for host in THIRTY[:3]:
        board.take(ended(host, Outcome.DEPLOYED, 0), 1.0)
    board.take(ended(THIRTY[3], Outcome.ROLLED_BACK, 8), 1.0)
    for host in THIRTY[18:22]:
        board.take(StepStarted(host, "wait"), 1.0)
    shown = [one.host for one in board.rows(2.0, 6)]
    assert shown == [THIRTY[3], THIRTY[4], *THIRTY[18:22]]  # at work, failed, then waiting; in the hosts' order
    assert board.summary() == "30 hosts: 4 at work, 1 not well, 14 waiting, 3 done, 8 to come"


def test_all_rows_where_they_fit() -> None:
    assert [one.host for one in Board(THIRTY).rows(0.0, 30)] == list(THIRTY)


def test_pending_changes_are_not_called_unwell() -> None:
    board = Board(("a", "b", "c"))
    board.take(ended("a", Outcome.WOULD_CHANGE, 6), 1.0)
    board.take(ended("b", Outcome.NOT_BEGUN, 6), 1.0)
    board.take(ended("c", Outcome.FAILED, 1), 1.0)
    assert board.summary() == "3 hosts: 1 not well, 1 to change, 1 not begun"


def test_a_narrow_terminal_keeps_the_verdict_whole() -> None:
    rows = (
        Row("ct200", Where.DONE, detail="serves lab-cff5fd050c", begun=0.0, seconds=21.0),
        Row("b300", Where.AT_WORK, "graph", "weights 41%  0:12 elapsed, about 0:20 left", 0.4, 0.0, 12.0),
    )
    assert fitting(rows, 120) == (Column.STEP, Column.SECONDS, Column.BAR)
    assert fitting(rows, 50) == (Column.STEP, Column.SECONDS)
    assert fitting(rows, 40) == (Column.STEP,)
    assert fitting(rows, 30) == ()
