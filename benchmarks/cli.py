"""How long commands take to start and to end, against bare ssh and Ansible: run by hand, as root, on a quiet machine.

    python -m benchmarks.cli                  # one lab host of its own, writes benchmarks/results/cli.json

Wall time and CPU time (of the command and its children). Commands take turns; no connection is left open between runs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import contestants, lab_fleet, machine, peer_tools, results, work
from benchmarks.contestants import OURS, TOOLS, Scenario
from benchmarks.lab_fleet import LabFleet
from benchmarks.results import tell
from benchmarks.spread import spread
from benchmarks.timing import Timed, timed
from benchmarks.work import Work

LAB = "bench-cli"


@dataclass(frozen=True)
class Entry:
    """One command; `what` is how the table calls it."""

    what: str
    argv: tuple[str, ...]


def entries(fleet: LabFleet, wanted: Work, venv: Path) -> tuple[Entry, ...]:
    """Ours and what they are compared with."""
    host = fleet.hosts[0]
    ansible = ("-i", str(wanted.inventory), host, "-m", "ansible.builtin.ping")
    return (
        Entry("python -c pass", (sys.executable, "-c", "pass")),
        Entry("ssh HOST true", ("ssh", "-F", str(fleet.lab.ssh_config), host, "true")),
        Entry("ansible --version", (str(venv / "bin" / "ansible"), "--version")),
        Entry("ansible HOST -m ping", (str(venv / "bin" / "ansible"), *ansible)),
        Entry("pyinfra --version", (str(venv / "bin" / "pyinfra"), "--version")),
        Entry("ddtree-ops --version", (OURS, "--version")),
        Entry("ddtree-ops --help", (OURS, "--help")),
        Entry("ddtree-ops deploy --help", (OURS, "deploy", "--help")),
        Entry("ddtree-ops status", (OURS, "status", "--host", host)),
        Entry("ddtree-ops plan", (OURS, "plan", "--host", host)),
        Entry("ddtree-ops deploy (no-op)", (OURS, "deploy", "--host", host, "--yes")),
    )


def measure(found: Sequence[Entry], repeat: int, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rounds over all commands. The first round is not counted: it fills the page cache."""
    runs: dict[str, list[Timed]] = {entry.what: [] for entry in found}
    for number in range(repeat + 1):
        for entry in found:
            done = timed(entry.argv, environment)
            if done.code != 0:
                raise contestants.WrongWork(f"{entry.what}: exit code {done.code}\n{done.output}{done.errors}")
            if number:
                runs[entry.what].append(done)
    return [row(what, done) for what, done in runs.items()]


def row(what: str, runs: Sequence[Timed]) -> dict[str, Any]:
    """One line of the table."""
    wall, cpu = spread([run.wall for run in runs]), spread([run.cpu for run in runs])
    tell(f"  {what:28} {wall.median:7.3f} s ({wall.least:.3f} to {wall.greatest:.3f})   cpu {cpu.median:.3f}")
    return {"what": what, "wall": wall.to_data(), "cpu": cpu.to_data()}


def main() -> None:
    """Boot, deploy once, measure, write."""
    parser = argparse.ArgumentParser(description="how long commands take to start and to end")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--lab", default=LAB)
    parser.add_argument("--out", type=Path, default=results.FOLDER / "cli.json")
    asked = parser.parse_args()
    here = machine.describe()
    venv = peer_tools.environment()
    here["versions"] |= peer_tools.versions(venv)
    machine.show(here, tell)
    with lab_fleet.fleet(asked.lab, 1) as fleet, tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wanted = Work(work.prepare(fleet, folder), folder / "inventory", folder / "values.json")
        argv = contestants.command(TOOLS[0], Scenario.FIRST, wanted, fleet.hosts, venv)
        contestants.check(TOOLS[0], Scenario.FIRST, timed(argv, {"DDTREE_OPS_INVENTORY": str(wanted.inventory)}), 1)
        with contestants.surroundings(contestants.tool("plain"), wanted, venv) as environment:
            kept_off = {"ANSIBLE_SSH_ARGS": "-o ControlMaster=no"}  # every ping makes a connection of its own, as ssh does
            rows = measure(entries(fleet, wanted, venv), asked.repeat, {**environment, **kept_off})
    results.write(asked.out, "cli", here, commands=rows)


if __name__ == "__main__":
    main()
