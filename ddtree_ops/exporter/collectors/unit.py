"""What systemd says of our server units, and how far a load is: one `systemctl show` for all, two commands more in a load."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.catalogue import unit as catalogue
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import MOST_PORTS, Target
from ddtree_ops.exporter.unit import load_movement, samples
from ddtree_ops.exporter.unit.load_movement import Look, Movement
from ddtree_ops.ports import Command
from ddtree_ops.units import systemctl
from ddtree_ops.units.systemctl import UnitState
from ddtree_ops.units.whole_number import whole_number

_CLOCK = Command(("date", "+%s.%N"), timeout=10.0)


def show_servers(ports: tuple[int, ...]) -> Command:
    """`systemctl show` of all our units that systemd has loaded, and of those of `ports`, loaded or not."""
    command = systemctl.show_all((systemctl.SERVERS, *map(systemctl.unit_name, ports)))
    return replace(command, argv=(*command.argv, f"--property={','.join(load_movement.PROPERTIES)}"), timeout=10.0)


class UnitCollector:
    """Remembers, of each unit, when its load last moved and the exit code of the last run that it saw end.

    `dropped`: servers that are too many for all collectors.
    """

    name = "unit"
    period = 5.0

    def __init__(self, target: Target) -> None:
        self._target = target
        self._movements: dict[str, Movement] = {}
        self._exits: dict[str, int] = {}
        self.dropped = 0

    def read(self) -> Sequence[Sample]:
        """Raises as Shell.run does."""
        ports = self._target.all_ports()
        blocks = self._target.shell.run(show_servers(ports[:MOST_PORTS])).stdout.split("\n\n")
        units = [(systemctl.parse_show(block), block) for block in blocks if block.strip()]
        there = {state.port: (state, block) for state, block in units if state.port and _is_there(state)}
        self._target.saw(there.keys())
        known = sorted({*ports, *there})
        self.dropped = len(known[MOST_PORTS:])
        chosen = {str(port): there[port] for port in known[:MOST_PORTS] if port in there}
        for memory in (self._movements, self._exits):
            for port in memory.keys() - chosen.keys():
                memory.pop(port)
        return [sample for port, (state, block) in chosen.items() for sample in self._of_unit(port, state, block)]

    def _of_unit(self, port: str, state: UnitState, block: str) -> Iterator[Sample]:
        yield from samples.of_state(state, port)
        if not state.main_pid and state.main_started:
            self._exits[port] = state.exit_status
        if port in self._exits:
            yield Sample(catalogue.LAST_EXIT_CODE, self._exits[port], (port,))
        if samples.loading(state):
            now = self._now()
            movement = self._movements.setdefault(port, Movement())
            movement.take(self._look(state, block, now), samples.unix_seconds(state.main_started) or now)
            yield from samples.of_load(state, port, now, movement.last)
        else:
            self._movements.pop(port, None)

    def _look(self, state: UnitState, block: str, now: float) -> Look:
        values = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        return Look(
            at=now,
            invocation=state.invocation,
            status=state.status_text,
            phase=samples.phase_of(state),
            cpu_seconds=load_movement.cpu_seconds(values.get("CPUUsageNSec")),
            tasks=whole_number(values.get("TasksCurrent")),
            log=self._newest_line(state),
        )

    def _newest_line(self, state: UnitState) -> float | None:
        try:
            return load_movement.newest(self._target.shell.run(load_movement.last_lines(state.name, state.invocation)).stdout)
        except DdtreeOpsError:  # what systemd says is worth something without the journal
            return None

    def _now(self) -> float:
        """The host's own clock, which its timestamps are of: over SSH it isn't ours."""
        try:
            return float(self._target.shell.run(_CLOCK).stdout)
        except ValueError:
            return time.time()


def _is_there(state: UnitState) -> bool:
    """systemd keeps a name for a unit whose file was removed as long as something refers to it."""
    return state.exists or state.active is not systemctl.Active.INACTIVE
