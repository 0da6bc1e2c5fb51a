"""The way back: bring the former release back after another one failed, and say what serves then."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ddtree_ops.errors import DdtreeOpsError, Unreachable
from ddtree_ops.fleet.state import HostState
from ddtree_ops.flows.golive import GoLive
from ddtree_ops.flows.look import look
from ddtree_ops.flows.progress import StepLog, Tell
from ddtree_ops.flows.switching import stop
from ddtree_ops.flows.wait import Server
from ddtree_ops.ports import Playbooks
from ddtree_ops.report.deployment import Serving


@dataclass(frozen=True)
class WentBack:
    """How the way back ended: what serves, and what went wrong on it, if anything."""

    serving: Serving
    error: DdtreeOpsError | None = None


class WayBack:
    """Brings the former release back after another one failed."""

    def __init__(self, server: Server, playbooks: Playbooks, log: StepLog, tell: Tell, state: HostState) -> None:
        self._server = server
        self._playbooks = playbooks
        self._log = log
        self._tell = tell
        self._state = state

    def go(self, failed: GoLive, target: str | None) -> WentBack:
        """`target` is the release to go back to; None: stop the failed one. Raises nothing that is expected."""
        try:
            if not failed.restarted:
                return self._undo_link(target)
            if target is None:
                return self._stop(failed.server)
            with_port = server_of(self._server, self._state, target)
            former = GoLive(with_port, self._playbooks, self._log, self._tell, target)
            former.switch_and_wait("switch back", "wait again")
        except DdtreeOpsError as error:
            return WentBack(serving_now(self._server, error), error)
        return WentBack(Serving(target))

    def _undo_link(self, target: str | None) -> WentBack:
        """The switch itself failed: the server was not touched and must not be; only the link may have moved."""
        linked = target or self._state.current
        if linked is not None:
            with self._log.step("link back") as step:
                server = server_of(self._server, self._state, linked)
                GoLive(server, self._playbooks, self._log, self._tell, linked).link()
                step.text = f"current -> {linked}; nothing was restarted"
        return WentBack(Serving(self._state.serving))

    def _stop(self, server: Server) -> WentBack:
        with self._log.step("stop") as step:
            stop(server)
            step.text = "no former release to go back to"
        return WentBack(Serving(None))


def good_release(state: HostState) -> str | None:
    """Where the way back leads: the last good release if it is still there, else what serves now."""
    return state.last_good if state.manifest(state.last_good) else state.serving


def server_of(server: Server, state: HostState, release: str) -> Server:
    """The server as a release on the host runs it: an older release may serve on another port than the spec says now."""
    manifest = state.manifest(release)
    port = manifest.port if manifest else state.unit.port if state.running == release else None
    return replace(server, port=port) if port else server


def serving_now(server: Server, after: DdtreeOpsError) -> Serving:
    """What serves after something went wrong; not asked again of a host that can't be reached."""
    if isinstance(after, Unreachable):
        return Serving(None, known=False)
    try:
        return Serving(look(server.shell, server.port).serving)
    except DdtreeOpsError:
        return Serving(None, known=False)
