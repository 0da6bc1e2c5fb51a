"""One look at a unit, as samples. Whole sets of states, results and phases, so that a series never stays behind at 1."""

from __future__ import annotations

from collections.abc import Iterator

from ddtree_ops.exporter.catalogue import unit as catalogue
from ddtree_ops.exporter.metric import Metric, Sample
from ddtree_ops.units import status_text
from ddtree_ops.units.phases import Phase
from ddtree_ops.units.systemctl import Active, UnitState
from ddtree_ops.units.whole_number import whole_number

# service_result_table of systemd 257, src/core/service.c; `other` for what a newer one may say.
RESULTS = (
    "success",
    "resources",
    "protocol",
    "timeout",
    "exit-code",
    "signal",
    "core-dump",
    "watchdog",
    "exec-condition",
    "start-limit-hit",
    "oom-kill",
    "other",
)
PHASES = (*(str(phase) for phase in Phase), "none")
_SEGMENTS = {prefix + phase: phase for phase in Phase for prefix in ("", "draft_")}


def of_state(state: UnitState, port: str) -> Iterator[Sample]:
    """What is so whether it loads or not."""
    yield from state_set(catalogue.STATE, port, map(str, Active), state.active)
    result = state.result if state.result in RESULTS else "other"
    yield from state_set(catalogue.LAST_RESULT, port, RESULTS, result)
    phase = phase_of(state)
    yield from state_set(catalogue.PHASE, port, PHASES, "none" if phase is None else phase)
    yield Sample(catalogue.RESTARTS, state.restarts, (port,))
    yield Sample(catalogue.READY, float(state.serving), (port,))
    started = unix_seconds(state.main_started)
    if started is not None:
        yield Sample(catalogue.STARTED, started, (port,))


def of_load(state: UnitState, port: str, now: float, moved: float) -> Iterator[Sample]:
    """How far a load is; `now` and `moved` are the host's Unix time."""
    yield Sample(catalogue.LAST_PROGRESS, moved, (port,))
    started = unix_seconds(state.main_started)
    told = status_text.parse(state.status_text)
    if started is None:
        return
    elapsed = max(0.0, now - started)  # clocks are set, too
    yield Sample(catalogue.LOAD_ELAPSED, elapsed, (port,))
    if told is not None and told.eta is not None:
        yield Sample(catalogue.LOAD_ETA, told.eta, (port,))
        if elapsed + told.eta > 0:
            yield Sample(catalogue.LOAD_PROGRESS, elapsed / (elapsed + told.eta), (port,))


def loading(state: UnitState) -> bool:
    """The main process runs and has not said that it is ready; not the pause before systemd's next try."""
    return state.active is Active.ACTIVATING and not state.sub.startswith("auto-restart")


def phase_of(state: UnitState) -> Phase | None:
    """None when no server runs, and while the launcher can't tell (it reads the phase in the journal)."""
    if state.serving:
        return Phase.SERVING
    if state.active is Active.DEACTIVATING:
        return Phase.SHUTDOWN
    told = status_text.parse(state.status_text) if loading(state) else None
    return _SEGMENTS.get(told.segment) if told else None


def state_set(metric: Metric, port: str, names: Iterator[str] | tuple[str, ...], current: str) -> Iterator[Sample]:
    """1 for the current one, 0 for the others."""
    for name in names:
        yield Sample(metric, float(name == current), (port, name))


def unix_seconds(stamp: str) -> float | None:
    """`@seconds`, as systemctl prints with --timestamp=unix; None for an empty one."""
    number = whole_number(stamp.removeprefix("@"))
    return None if not number else float(number)
