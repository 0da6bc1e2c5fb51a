"""How long a deploy takes, against the peers, on lab hosts of its own: run by hand, as root, on a quiet machine.

    python -m benchmarks.converge                         # 1, 3 and 10 hosts, writes benchmarks/results/converge.json
    python -m benchmarks.converge --hosts 30              # writes converge-30.json
    python -m benchmarks.converge --hosts 1 --repeat 1 --tools ours tuned --scenarios noop --out FILE

Scenarios: `first` a bare host; `noop` nothing changed (20 checks for the peers); `changed` one argument of the server (20
tasks for the peers). `first` and `changed` are timed from the start of the command to the moment at which systemd begins to
start, or to end, the unit: systemd's own time stamp on the last host. `noop` is the whole command. Tools take turns, in an
order that moves on by one each round; no connection is left open between runs; each run's own words are checked.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import contestants, lab_fleet, machine, peer_tools, results, work
from benchmarks.contestants import TOOLS, Scenario, Tool
from benchmarks.lab_fleet import LabFleet
from benchmarks.results import tell
from benchmarks.spread import spread
from benchmarks.timing import Timed, timed
from benchmarks.work import Work

LAB = "bench"
SLOW = ("plain", "roles")  # known losers: in the first round alone, and only where a case has time for them


@dataclass(frozen=True)
class Case:
    """One cell of the table: `repeat` rounds of every tool, in `slow` ones a round of the slow tools, too."""

    scenario: Scenario
    hosts: int
    round_trip_ms: int
    repeat: int
    slow: bool = False

    def takes(self, tool: Tool, number: int) -> bool:
        """Whether a tool runs in this round."""
        if tool.mitogen and self.scenario is Scenario.FIRST:  # its importer can't load the package that our roles' modules share
            return False
        return tool.name not in SLOW or (self.slow and number == 0)


# What 8 minutes on two quiet cores are spent on (30 hosts: only if asked for).
CASES = (
    Case(Scenario.NOOP, 1, 0, 3, slow=True),
    Case(Scenario.NOOP, 1, 40, 2, slow=True),
    Case(Scenario.NOOP, 3, 0, 1),
    Case(Scenario.NOOP, 10, 0, 2),
    Case(Scenario.CHANGED, 1, 0, 2, slow=True),
    Case(Scenario.FIRST, 1, 0, 1, slow=True),
    Case(Scenario.NOOP, 30, 0, 1),
)
# --long
FURTHER = (
    Case(Scenario.NOOP, 10, 40, 1),
    Case(Scenario.CHANGED, 1, 40, 2),
    Case(Scenario.CHANGED, 3, 0, 1),
    Case(Scenario.CHANGED, 10, 0, 1),
    Case(Scenario.CHANGED, 30, 0, 1),
)


@dataclass(frozen=True)
class Run:
    """One run: seconds as the scenario counts them, and the whole command's."""

    counted: float
    whole: float
    cpu: float
    peak_mib: float


class Race:
    """Runs cases on one lab and keeps what they took."""

    def __init__(self, fleet: LabFleet, scratch: Path, venv: Path) -> None:
        self._fleet = fleet
        self._scratch = scratch
        self._venv = venv
        self._round = 0
        self._base, self._files = scratch / "base", scratch / "files"
        self._base_work, self._began = self._first_deploy()

    def _first_deploy(self) -> tuple[Work, Run]:
        """Our own deploy brings all hosts to the base that every case begins with, and leaves its files for the peers."""
        release = work.prepare(self._fleet, self._base)
        unwritten = Work(release, self._base / "inventory", self._base)
        argv = contestants.command(TOOLS[0], Scenario.FIRST, unwritten, self._fleet.hosts, self._venv)
        with contestants.surroundings(TOOLS[0], unwritten, self._venv) as environment:
            done = timed(argv, environment)
        contestants.check(TOOLS[0], Scenario.FIRST, done, len(self._fleet.hosts))
        run = Run(self._counted(self._fleet, Scenario.FIRST, done), done.wall, done.cpu, done.peak_mib)
        work.take_files(self._fleet, release.id, self._files)
        return work.write(self._fleet, self._base, release, self._files), run

    def beginning(self) -> dict[str, Any]:
        """The first deploy of all hosts at once, as a case of ours alone."""
        case = Case(Scenario.FIRST, len(self._fleet.hosts), 0, 1)
        return {**_place(case), "delay": "none", "tools": {"ours": summary([self._began])}}

    def case(self, case: Case, tools: Sequence[Tool]) -> dict[str, Any]:
        """All rounds of one case. Raises WrongWork if a tool did something else."""
        fleet = self._fleet.first(case.hosts)
        runs: dict[str, list[Run]] = {tool.name: [] for tool in tools}
        with fleet.delayed(case.round_trip_ms) as delay:
            for number in range(case.repeat):
                for tool in turned(tools, number):
                    if case.takes(tool, number):
                        runs[tool.name].append(self._run(fleet, case, tool))
        return {**_place(case), "delay": delay, "tools": {name: summary(found) for name, found in runs.items() if found}}

    def _run(self, fleet: LabFleet, case: Case, tool: Tool) -> Run:
        wanted = self._wanted(fleet, case.scenario)
        if case.scenario is Scenario.FIRST:
            fleet.wipe()
        with contestants.surroundings(tool, wanted, self._venv) as environment:
            done = timed(contestants.command(tool, case.scenario, wanted, fleet.hosts, self._venv), environment)
        contestants.check(tool, case.scenario, done, len(fleet.hosts))
        run = Run(self._counted(fleet, case.scenario, done), done.wall, done.cpu, done.peak_mib)
        place = f"{case.scenario:8} {case.hosts:3} hosts {case.round_trip_ms:3} ms"
        tell(f"  {place}  {tool.name:8} {run.counted:7.2f} s  (whole {run.whole:.2f}, {run.peak_mib:.0f} MiB)")
        self._back(fleet, case.scenario)
        return run

    def _wanted(self, fleet: LabFleet, scenario: Scenario) -> Work:
        if scenario is not Scenario.CHANGED:
            folder, changes = self._base if fleet == self._fleet else self._scratch / f"base-{len(fleet.hosts)}", {}
        else:
            self._round += 1  # each run brings in an argument that no host has seen
            folder, changes = self._scratch / f"changed-{self._round}", {"server_args": {"watchdog-timeout": 4000 + self._round}}
        return work.write(fleet, folder, work.prepare(fleet, folder, **changes), self._files)

    def _counted(self, fleet: LabFleet, scenario: Scenario, done: Timed) -> float:
        if scenario is Scenario.NOOP:
            return done.wall
        name = "InactiveExit" if scenario is Scenario.FIRST else "ActiveExit"
        last = max(fleet.each(lambda host: fleet.moment(host, name)))
        if last <= done.began:
            raise contestants.WrongWork(f"{scenario}: a unit was not restarted")
        return last - done.began

    def _back(self, fleet: LabFleet, scenario: Scenario) -> None:
        """To the base; after `first` ours has to make it again, whoever made what is there."""
        if scenario is Scenario.CHANGED:
            fleet.wait_serving()
            fleet.restore(self._base_work.release.id)
        elif scenario is Scenario.FIRST:
            fleet.wait_serving()
            fleet.wipe()


def _place(case: Case) -> dict[str, Any]:
    return {"scenario": str(case.scenario), "hosts": case.hosts, "round_trip_ms": case.round_trip_ms}


def turned(tools: Sequence[Tool], number: int) -> Iterator[Tool]:
    """The tools in an order that moves on by one each round, so that none is always the first or behind the same one."""
    start = number % len(tools)
    yield from (*tools[start:], *tools[:start])


def summary(runs: Sequence[Run]) -> dict[str, Any]:
    """Spreads of one tool in one case."""
    return {
        "seconds": spread([run.counted for run in runs]).to_data(),
        "whole": spread([run.whole for run in runs]).to_data(),
        "cpu": spread([run.cpu for run in runs]).to_data(),
        "peak_mib": max(run.peak_mib for run in runs),
    }


def chosen(asked: argparse.Namespace) -> list[Case]:
    """The cases that the options leave; `first` comes last, because it ends with bare hosts."""
    found = [
        replace(case, repeat=asked.repeat or case.repeat)
        for case in (*CASES, *(FURTHER if asked.long else ()))
        if case.hosts in asked.hosts and case.scenario in asked.scenarios and case.round_trip_ms in asked.round_trips
    ]
    return sorted(found, key=lambda case: case.scenario is Scenario.FIRST)


def main() -> None:
    """Boot, race, tell, write."""
    parser = argparse.ArgumentParser(description="how long a deploy takes, against its peers")
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 3, 10])
    parser.add_argument("--scenarios", type=Scenario, nargs="+", default=list(Scenario))
    parser.add_argument("--round-trips", type=int, nargs="+", default=[0, 40], metavar="MS")
    parser.add_argument("--tools", nargs="+", default=[tool.name for tool in TOOLS])
    parser.add_argument("--repeat", type=int, help="rounds of every case")
    parser.add_argument("--long", action="store_true", help="further cases: a changed argument at 40 ms and on more hosts")
    parser.add_argument("--lab", default=LAB)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    tools = tuple(contestants.tool(name) for name in asked.tools)
    cases = chosen(asked)
    here = machine.describe()
    venv = peer_tools.environment()
    here["versions"] |= peer_tools.versions(venv)
    machine.show(here, tell)
    name = "converge-30" if asked.hosts == [30] else "converge"
    path = asked.out or results.FOLDER / f"{name}.json"
    with lab_fleet.fleet(asked.lab, max(case.hosts for case in cases)) as fleet, tempfile.TemporaryDirectory() as scratch:
        race = Race(fleet, Path(scratch), venv)
        found = [] if any(_begins(case, fleet) for case in cases) else [race.beginning()]
        for case in cases:
            found.append(race.case(case, tools))
            results.write(path, name, here, cases=found)  # each time: a run that ends early leaves what it measured


def _begins(case: Case, fleet: LabFleet) -> bool:
    """Whether this case measures what the race begins with."""
    return case.scenario is Scenario.FIRST and case.hosts == len(fleet.hosts)


if __name__ == "__main__":
    main()
