"""How a run ends, by the signs in its log: who asked it to, who says that it died, what systemd saw."""

from __future__ import annotations

from typing import NamedTuple

from ddtree_ops.triage.block import Evidence
from ddtree_ops.triage.bounded import Latest
from ddtree_ops.triage.events import Sign, Told
from ddtree_ops.triage.lines import Line, evidence

_LINES = 8
_PROCESSES = 512
_OF_DEATH = frozenset({Sign.SIGQUIT, Sign.KILL_TREE, Sign.EXITED, Sign.CHILD_DIED, Sign.RESULT})
_PEACEFUL = frozenset({"success", "done"})


class DeadRank(NamedTuple):
    """What the launching process of older SGLang says of a child that it lost: its number and its exit code, as printed."""

    rank: str | None = None
    code: str | None = None


class Fate:
    """Take signs in the log's order.

    `graceful`: it was asked to stop before anything said that it had died; what follows, whatever its exit status, is no
    death. `alive`: processes that the server looked at after the crash, so they weren't the dead ones.
    """

    def __init__(self) -> None:
        self.graceful = self.died = self.oom_killed = self.start_timed_out = False
        self.exit: tuple[str, int, str | None] | None = None
        self.result: str | None = None
        self.dead_children: Latest[int, int] = Latest(_PROCESSES)
        self.dead_rank = DeadRank()
        self.alive: Latest[int, None] = Latest(_PROCESSES)
        self.lines: list[Evidence] = []
        self.stopped_us: int | None = None
        self.stopped_line: int | None = None

    @property
    def over(self) -> bool:
        """Whether systemd says that the run has ended."""
        return self.exit is not None or self.result is not None

    def take(self, told: Told, line: Line) -> None:
        """Take one sign."""
        sign, match = told
        if sign in (Sign.SIGTERM, Sign.STOP_WANTED, Sign.STOPPED_CLEANLY):
            self._ask_to_stop(line)
        elif sign is Sign.SIGQUIT:
            self._die()
        elif sign is Sign.CHILD_DIED:
            self.dead_children.keep(int(match["pid"]), int(match["code"]))
            self._die()
        elif sign is Sign.RANK_DEAD:
            self.dead_rank = DeadRank(match["rank"] or self.dead_rank.rank, match["code"] or self.dead_rank.code)
            self._die()
        elif sign is Sign.DIAGNOSTICS and match["alive"]:
            self.alive.keep(int(match["alive"]), None)
        elif sign is Sign.EXITED:
            self.exit = (match["code"], int(match["status"]), match["name"])
            if match["status"] != "0":
                self._die()
        elif sign is Sign.RESULT:
            self.result = match["result"]
            if self.result not in _PEACEFUL:
                self._die()
        self.oom_killed = self.oom_killed or sign is Sign.OOM_KILL or self.result == "oom-kill"
        self.start_timed_out = self.start_timed_out or sign is Sign.START_TIMEOUT
        if sign in _OF_DEATH:
            self.lines = [*self.lines, evidence(line)][:_LINES]

    def _die(self) -> None:
        self.died = self.died or not self.graceful

    def _ask_to_stop(self, line: Line) -> None:
        if not self.died and not self.graceful:
            self.graceful, self.stopped_us, self.stopped_line = True, line.entry.realtime_us, line.number
