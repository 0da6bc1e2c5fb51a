"""The report of what a person stopped: where it stood, what serves, and what the host does by itself now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.fleet.state import DeadMan, HostState
from ddtree_ops.flows.look import look
from ddtree_ops.flows.server import Server
from ddtree_ops.report.deployment import DeploymentReport, Outcome, Serving, Step, StepState
from ddtree_ops.units.systemctl import Active

INTERRUPTED_EXIT = 130
SAME = "the same deploy"
# The steps of a deploy or rollback after which everything still is as it was, but for staged files and an armed dead-man.
BEFORE_SWITCH = frozenset({"look", "plan", "lock", "look again", "models", "stage", "judge", "validate", "arm"})

_MOVED = {
    "switch": "switched the release",
    "switch back": "switched back",
    "link back": "switched back",
    "restart": "restarted the server",
}


def interrupted(
    host: str, release: str | None, steps: Sequence[Step], state: HostState | None = None, again: str = SAME
) -> DeploymentReport:
    """A deploy or rollback. `state`: the host as seen afterwards, None: not seen. `again`: the command that takes it up."""
    last = steps[-1] if steps else None
    where = "before its first step" if last is None else f"{'in' if last.state is StepState.FAILED else 'after'} {last.name}"
    reached = any(step.name not in BEFORE_SWITCH for step in steps)
    return _report(host, where, state, release, steps, _fix(host, reached, state, again))


def interrupted_at(server: Server, release: str | None, steps: Sequence[Step], again: str = SAME) -> DeploymentReport:
    """The same, with a look at the host; another interruption cuts the look short."""
    return interrupted(server.shell.host, release, steps, _seen(server), again)


def verb_interrupted(server: Server, verb: str) -> DeploymentReport:
    """A start, stop or restart: systemd goes on with it."""
    host, state = server.shell.host, _seen(server)
    if state is None:
        fix = _ask(host)
    elif under_way := _unfinished(state):
        fix = under_way
    elif state.unit.active is Active.ACTIVATING:
        fix = f"it goes on loading; `ddtree-ops wait --host {host}` follows it"
    else:
        fix = f"ddtree-ops {verb} --host {host}"
    return _report(host, f"in {verb}", state, None, (), fix)


def unfinished(server: Server) -> str | None:
    """What a start or restart changes nothing of: a deploy that isn't committed, and when the host goes back."""
    state = _seen(server)
    return _unfinished(state) if state is not None else None


def left_behind(server: Server, steps: Sequence[Step]) -> str:
    """After the lock was taken from a deploy or rollback: what it had moved, and what the host does of itself."""
    ended = {step.name for step in steps if step.state is StepState.OK}
    moved = [what for step, what in _MOVED.items() if step in ended]
    told = f"this command had {' and '.join(moved)}" if moved else "this command had switched nothing"
    state = _seen(server)
    if state is None:
        return f"{told}; {_ask(server.shell.host)}"
    if state.dead_man is None or state.dead_man.damaged:
        return f"{told}; nothing waits for a commit: whoever has the lock decides what stays"
    return f"{told}; {_unfinished(state)} (it waits while somebody holds the lock)"


def _unfinished(state: HostState) -> str | None:
    orders = state.dead_man
    if orders is None or orders.damaged:
        return None
    return f"{orders.release} is not committed: {_goes_back(orders, 'its deploy')}"


def _seen(server: Server) -> HostState | None:
    try:
        return look(server.shell, server.port)
    except (DdtreeOpsError, KeyboardInterrupt):
        return None


def _fix(host: str, reached: bool, state: HostState | None, again: str) -> str:
    told = "" if reached else "nothing was switched; "
    if state is None:
        return told + _ask(host)
    if state.dead_man is None or state.dead_man.damaged:
        return f"{told}{again} takes it up again"
    return f"{told or 'uncommitted; '}{_goes_back(state.dead_man, again)}"


def _goes_back(orders: DeadMan, again: str) -> str:
    if not orders.timer_active or orders.seconds_left is None:
        return f"the host's timer that goes back does not run: run {again} again"
    left = max(0.0, orders.seconds_left)
    return f"the host goes back to {orders.back_to or 'no server'} by itself in about {left:.0f} s unless {again} is run again"


def _ask(host: str) -> str:
    return f"`ddtree-ops status --host {host}` says what serves and whether the host goes back by itself"


def _report(
    host: str, where: str, state: HostState | None, release: str | None, steps: Sequence[Step], hint: str
) -> DeploymentReport:
    serving = Serving(state.serving) if state is not None else Serving(None, known=False)
    report = DeploymentReport.broken_off(host, Outcome.INTERRUPTED, INTERRUPTED_EXIT, steps, serving)
    return replace(report, release=release, error=f"{host}: interrupted {where}", hint=hint)
