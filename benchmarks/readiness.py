"""How late our verdict is: from the true moment, which the simulator notes, to the words on the terminal; and a poller's.

    python -m benchmarks.readiness                 # 20 repetitions, writes benchmarks/results/readiness.json
    python -m benchmarks.readiness --repeat 1 --polled 0 --stories ready crash_loading --out FILE

Stories: `ready`; `crash_loading` all ranks raise in the weights; `crash_warmup` the 8-against-33 crash of all ranks;
`crash_waiting` one rank raises and SGLang sits in its 5 s and 60 s of waiting before it would exit; `stall` every rank hangs;
`silent` a graph capture of over a minute without a line, which is no stall. The verdict's moment is the first byte that
`ddtree-ops restart` prints; the true one is that of the last rank's traceback's last line, of the last rank's last step, or of
the server's first right answer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks import contestants, lab_fleet, machine, results, work
from benchmarks.contestants import OURS, TOOLS, Scenario, WrongWork
from benchmarks.lab_fleet import PORT, UNIT, LabFleet
from benchmarks.poller import EVERY_SECONDS, Poller, Seen
from benchmarks.results import tell
from benchmarks.spread import spread
from benchmarks.timing import timed
from benchmarks.work import Work

LAB = "bench-ready"
MOMENTS = "/var/cache/ddtree/moments"  # the unit's CacheDirectory=
STALL_AFTER = 15
ENVIRONMENT = {"SIM_LOAD_SECONDS": "1.5", "SIM_MOMENTS": MOMENTS}
SILENCE_SECONDS = 60.0
POLLER_LIMIT = 5 * EVERY_SECONDS


@dataclass(frozen=True)
class Story:
    """What happens to a start: the simulator's settings, the moment's name, our exit code, what a poller has to see."""

    name: str
    moment: str
    code: int
    settings: Mapping[str, str]
    poller: Seen | None = None
    most: int = 1000


STORIES = (
    Story("ready", "ready", 0, {}, Seen.READY),
    Story("crash_loading", "crash", 4, {"SIM_FAULT": "crash:weights"}, Seen.DEAD),
    Story("crash_warmup", "crash", 4, {"SIM_FAULT": "graph_width:warmup"}, Seen.DEAD),
    Story("crash_waiting", "crash", 4, {"SIM_FAULT": "raise_rank:3"}, Seen.DEAD),
    Story("stall", "hang", 5, {"SIM_FAULT": "hang:weights"}, Seen.DEAD, most=5),
    Story("silent", "ready", 0, {"SIM_SECONDS_GRAPH_CAPTURE": "95"}, most=1),
)


@dataclass(frozen=True)
class Told:
    """One run: how late we and the poller were, seconds (None: not polled), and the longest silence of the server's log."""

    late: float
    poller_late: float | None
    silence: float


class Stage:
    """One host on which stories are played."""

    def __init__(self, fleet: LabFleet, folder: Path) -> None:
        self._fleet, self._host = fleet, fleet.hosts[0]
        release = work.prepare(fleet, folder, environment=ENVIRONMENT, stall_after=f"{STALL_AFTER}s")
        wanted = Work(release, folder / "inventory", folder)
        self._environment = {"DDTREE_OPS_INVENTORY": str(wanted.inventory)}
        argv = contestants.command(TOOLS[0], Scenario.FIRST, wanted, fleet.hosts, folder)
        contestants.check(TOOLS[0], Scenario.FIRST, timed(argv, self._environment), 1)

    def play(self, story: Story, *, polled: bool) -> Told:
        """One start. Raises WrongWork for another verdict than the story's."""
        self._clear(story)
        began = time.monotonic()
        poller = Poller(self._fleet.lab.ssh_config, self._host, UNIT, PORT) if polled else None
        at = self._verdict(story)
        true = self._moment(story.moment, began)
        noticed = poller.wait(POLLER_LIMIT) if poller else None
        if noticed and noticed.seen is not story.poller:
            raise WrongWork(f"{story.name}: the poller saw {noticed.seen}")
        return Told(at - true, noticed.at - true if noticed else None, self._silence())

    def _clear(self, story: Story) -> None:
        lab = self._fleet.lab
        lab.sh(
            self._host,
            "sh",
            "-c",
            f"systemctl kill -s KILL {UNIT}; systemctl stop {UNIT}; systemctl reset-failed {UNIT}; rm -f {MOMENTS}; true",
        )
        lab.simulator(self._host, **story.settings)

    def _verdict(self, story: Story) -> float:
        """When `restart` prints its first byte, which is its verdict."""
        argv = (OURS, "restart", "--host", self._host)
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env={**os.environ, **self._environment}
        ) as process:
            assert process.stdout is not None  # noqa: S101
            first = os.read(process.stdout.fileno(), 1)
            at = time.monotonic()
            text = (first + process.stdout.read()).decode(errors="replace")
        if process.returncode != story.code:
            raise WrongWork(f"{story.name}: exit code {process.returncode} in place of {story.code}\n{text}")
        return at

    def _moment(self, name: str, began: float) -> float:
        """The last rank's; of `ready` there is one."""
        lines = self._fleet.lab.sh(self._host, "cat", MOMENTS).splitlines()
        found = [float(at) for at, what, _ in map(str.split, lines) if what == name and float(at) > began]
        if not found:
            raise WrongWork(f"the simulator has noted no {name}: {lines}")
        return found[0] if name == "ready" else max(found)

    def _silence(self) -> float:
        """The longest pause between two lines of the unit's present start."""
        invocation = self._fleet.unit(self._host, "InvocationID")
        argv = ("journalctl", "--quiet", "--output=short-unix", f"_SYSTEMD_INVOCATION_ID={invocation}")
        times = [
            float(line.split(" ", 1)[0]) for line in self._fleet.lab.sh(self._host, *argv).splitlines() if line[:1].isdigit()
        ]
        return max((after - before for before, after in pairwise(times)), default=0.0)


def tell_story(stage: Stage, story: Story, repeat: int, polled: int) -> dict[str, Any]:
    """Repeat one story. Raises WrongWork if the silent one was not silent."""
    runs = [stage.play(story, polled=number < polled and story.poller is not None) for number in range(min(repeat, story.most))]
    silence = max(run.silence for run in runs)
    if story.name == "silent" and silence < SILENCE_SECONDS:
        raise WrongWork(f"silent: the log's longest pause was {silence:.0f} s")
    late = spread([run.late for run in runs])
    tell(f"  {story.name:14} {late.median:7.3f} s late ({late.least:.3f} to {late.greatest:.3f}, {late.count} runs)")
    pollers = [run.poller_late for run in runs if run.poller_late is not None]
    poller = spread(pollers).to_data() if pollers else None
    if pollers:
        tell(f"  {'':14} {spread(pollers).median:7.3f} s the poller")
    return {"story": story.name, "late": late.to_data(), "poller": poller, "silence": round(silence, 1)}


def main() -> None:
    """Boot, deploy, play, write."""
    names = [story.name for story in STORIES]
    parser = argparse.ArgumentParser(description="how late the verdict of a wait is")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--polled", type=int, default=5, help="so many repetitions wait for the poller, too")
    parser.add_argument("--stories", nargs="+", default=names, choices=names)
    parser.add_argument("--lab", default=LAB)
    parser.add_argument("--out", type=Path, default=results.FOLDER / "readiness.json")
    asked = parser.parse_args()
    here = machine.describe()
    machine.show(here, tell)
    with lab_fleet.fleet(asked.lab, 1) as fleet, tempfile.TemporaryDirectory() as scratch:
        stage = Stage(fleet, Path(scratch))
        found = [tell_story(stage, story, asked.repeat, asked.polled) for story in STORIES if story.name in asked.stories]
    results.write(asked.out, "readiness", here, stall_after=STALL_AFTER, poll_every=EVERY_SECONDS, stories=found)


if __name__ == "__main__":
    main()
