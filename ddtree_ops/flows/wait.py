"""Wait until the server is ready, or say why it won't be: journal, systemd and HTTP together, first news wins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError, ServerDied, ServerStalled
from ddtree_ops.flows import credentials
from ddtree_ops.flows.progress import LoadNews, Tell
from ddtree_ops.flows.server import Server, once_more
from ddtree_ops.flows.sources import Lost, Source, Sources
from ddtree_ops.ports import Command
from ddtree_ops.report.safe_text import one_line
from ddtree_ops.triage import journal
from ddtree_ops.triage.entry import KERNEL, JournalEntry
from ddtree_ops.units.readiness import Died, Readiness, Ready, Stalled, Verdict, Waiting
from ddtree_ops.units.systemctl import UnitState

if TYPE_CHECKING:  # all recognisers and signatures, 100 ms: loaded when there is something to diagnose
    from ddtree_ops.report.failure import FailureReport

TICK_SECONDS = 0.25
_BOOT = Command(("cat", "/proc/sys/kernel/random/boot_id"), ok=frozenset(range(256)))  # random(4)
_REBOOTED = "the host was rebooted"


@dataclass(frozen=True)
class Mark:
    """Where the journal and the unit stood before a restart: what comes after belongs to the new run."""

    cursor: str
    invocation: str


@dataclass(frozen=True)
class Waited:
    """How a wait ended; `failure` is the triage of what was read, where the verdict isn't Ready.

    `rebooted`: the server died with its host.
    """

    verdict: Verdict
    failure: FailureReport | None
    rebooted: bool = False

    def check(self, host: str) -> float:
        """Seconds until ready. Raises ServerDied, ServerStalled."""
        if isinstance(self.verdict, Ready):
            return self.verdict.seconds
        if self.rebooted:
            raise ServerDied(
                f"{host}: {_REBOOTED} after {self.verdict.seconds:.1f} s of the load, and the server died with it",
                hint=f"nothing is known against the release: ddtree-ops deploy --host {host}",
            )
        from ddtree_ops.triage.last_words import says_why

        kind = ServerDied if isinstance(self.verdict, Died) else ServerStalled
        what = {Died: "the server died", Stalled: "the load stalled"}.get(type(self.verdict), "the load took too long")
        root = self.failure.root if self.failure else None
        title = root.title if root else ""
        # A root that knows nothing tells less than what was seen while waiting.
        why = title if root and says_why(root) else self.verdict.reason or title
        raise kind(
            f"{host}: {what} after {self.verdict.seconds:.1f} s: {one_line(why)}",
            hint=f"ddtree-ops logs --host {host}",
        )


def mark(server: Server) -> Mark:
    """Call it before a start or restart."""
    newest = server.shell.run(Command(journal.last_cursor()))
    return Mark(journal.parse_cursor(newest.stdout.encode()), server.state().invocation)


def wait_after(server: Server, before: Mark, tell: Tell) -> Waited:
    """Wait for the run that was started after `before`."""
    old = before.invocation or None
    return _wait(
        server, journal.follow(server.unit, before.cursor, kernel=True), old, lambda one: one is None or one != old, tell
    )


def wait_running(server: Server, tell: Tell) -> Waited:
    """Wait for the run that is already on its way (or serving)."""
    state = server.state()
    if not state.exists or not state.invocation:
        raise DdtreeOpsError(
            f"{server.shell.host}: {server.unit} is not running", hint=f"ddtree-ops deploy --host {server.shell.host}"
        )
    since = (f"--since={state.started}",) if state.started else ()
    ours = state.invocation
    return _wait(
        server, (*journal.follow(server.unit, None, kernel=bool(since)), *since), None, lambda one: one in (None, ours), tell
    )


def _wait(server: Server, argv: tuple[str, ...], old: str | None, belongs: Callable[[str | None], bool], tell: Tell) -> Waited:
    bearer, boot = credentials.bearer(server.shell), _boot(server)
    sources = Sources(server.shell, server.http, server.clock, server.unit, server.port, bearer)
    sources.start(argv)
    try:
        waited = _Waiter(server, old, belongs, tell).run(sources)
    finally:
        sources.close()
    if not isinstance(waited.verdict, Died) or once_more(lambda: _boot(server)) == boot:
        return waited
    return Waited(replace(waited.verdict, reason=_REBOOTED), None, rebooted=True)


def _boot(server: Server) -> str:
    return server.shell.run(_BOOT).stdout.strip()


class _Waiter:
    """The loop: take news, feed the state machine and the diagnosis, stop at a verdict.

    `belongs` says of an entry's invocation whether it is of the run that is awaited.
    """

    def __init__(self, server: Server, old_invocation: str | None, belongs: Callable[[str | None], bool], tell: Tell) -> None:
        from ddtree_ops.triage.diagnose import Diagnoser

        self._server = server
        self._belongs = belongs
        self._tell = tell
        self._lost = False
        self._clock = server.clock
        self._diagnoser = Diagnoser()
        spec = server.spec
        self._readiness = Readiness(self._clock.monotonic(), spec.load_budget, spec.stall_after, old_invocation)

    def run(self, sources: Sources) -> Waited:
        while True:
            news = sources.get(TICK_SECONDS)
            now = self._clock.monotonic()
            if news is not None:
                self._take(news, now)
            if self._readiness.invocation:
                sources.allow_probes()
            verdict = self._readiness.verdict(now)
            if verdict is not None:
                return Waited(verdict, None if isinstance(verdict, Ready) else self._report())
            if news is None or isinstance(news, UnitState | Lost):
                waiting = self._readiness.waiting(now)
                shown = Waiting("connection lost, asking again", None, None, waiting.elapsed) if self._lost else waiting
                self._tell(LoadNews(self._server.shell.host, shown))

    def _take(self, news: Source, now: float) -> None:
        if isinstance(news, Exception):
            raise news
        if isinstance(news, UnitState):
            self._lost = False
            self._readiness.unit(news, now)
        elif isinstance(news, Lost):
            self._lost = True
        elif isinstance(news, JournalEntry):
            if self._belongs(news.invocation_id):
                self._diagnoser.feed(news)
                if news.transport != KERNEL:  # the kernel tells why, not how far
                    self._readiness.entry(news.pid, news.message, news.invocation_id, now)
        else:
            self._readiness.answered(now)

    def _report(self) -> FailureReport | None:
        from ddtree_ops.report.failure import from_diagnosis

        report = from_diagnosis(self._diagnoser.finish(), host=self._server.shell.host, unit=self._server.unit)
        return report if report.failures else None
