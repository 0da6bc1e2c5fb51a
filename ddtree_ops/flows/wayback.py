"""The way back: bring the former release back after another one failed, and say what serves then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError, Locked, ServerStopped, Unreachable
from ddtree_ops.fleet.state import HostState
from ddtree_ops.flows.look import look
from ddtree_ops.flows.mistake import Mistake
from ddtree_ops.flows.server import Server
from ddtree_ops.report.deployment import Serving

if TYPE_CHECKING:  # loaded when a host is changed: most looks end with nothing to do
    from ddtree_ops.flows.golive import Crew, GoLive


ROLLED_BACK_EXIT = 8


@dataclass(frozen=True)
class WentBack:
    """How the way back ended: what serves, and what went wrong on it, if anything. `linked`: nothing was restarted."""

    serving: Serving
    error: DdtreeOpsError | None = None
    linked: bool = False

    @property
    def again(self) -> bool:
        """The former release was restarted and serves again."""
        return self.error is None and not self.linked and self.serving.release is not None

    def told(self, why: DdtreeOpsError, failed: GoLive, target: str | None) -> tuple[int, DdtreeOpsError]:
        """Exit code and error of the whole: `why` it went back, and what went wrong on the way."""
        if self.error is None:
            return ROLLED_BACK_EXIT if self.again and not isinstance(why, Mistake) else why.exit_code, why
        text = f"{why.message}; and the way back failed: {self.error.message}"
        if isinstance(self.error, Locked):  # whoever has the lock now decides what becomes of the host
            return self.error.exit_code, DdtreeOpsError(text, evidence=why.evidence)
        hint = f"ddtree-ops deploy --host {failed.server.shell.host}"
        if failed.armed:
            hint = f"the host goes back to {target or 'no server'} by itself within {failed.deadman_seconds} s; or deploy again"
        return why.exit_code, DdtreeOpsError(text, hint=hint, evidence=why.evidence)


class WayBack:
    """Brings the former release back after another one failed."""

    def __init__(self, server: Server, crew: Crew, state: HostState) -> None:
        self._server = server
        self._crew = crew
        self._state = state

    def go(self, failed: GoLive, target: str | None, why: DdtreeOpsError) -> WentBack:
        """`target` is the release to go back to; None: stop the failed one. Raises nothing that is expected."""
        try:
            if not failed.restarted or isinstance(why, ServerStopped):
                went = self._undo_link(failed, target)
            elif target is None:
                went = self._stop(failed.server)
            else:
                went = self._restart(target)
            if failed.touched:
                failed.disarm()
        except DdtreeOpsError as error:
            return WentBack(serving_now(self._server, error), error)
        return went

    def _restart(self, target: str) -> WentBack:
        former = self._live(target)
        former.link("switch back")
        former.restart_and_wait("wait again")
        return WentBack(Serving(target))

    def _undo_link(self, failed: GoLive, target: str | None) -> WentBack:
        """The server was not touched, or stopped by somebody, and must be left so; only the link may have moved."""
        current = self._state.current
        linked = target or (current if self._state.manifest(current) else None)
        if linked is not None and failed.touched:
            self._live(linked).link("link back")
        serving = None if failed.restarted else self._state.serving
        return WentBack(Serving(serving), linked=True)

    def _stop(self, server: Server) -> WentBack:
        from ddtree_ops.flows.switching import stop

        with self._crew.log.step("stop") as step:
            stop(server)
            step.text = "no former release to go back to"
        return WentBack(Serving(None))

    def _live(self, release: str) -> GoLive:
        from ddtree_ops.flows.golive import GoLive

        return GoLive(server_of(self._server, self._state, release), self._crew, release)


def good_release(state: HostState) -> str | None:
    """Where the way back leads: the last good release if it is still there, else what serves now and is there."""
    return state.last_good if state.manifest(state.last_good) else state.serving_here


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
