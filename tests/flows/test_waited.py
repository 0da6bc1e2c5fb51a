"""What a wait that ended badly says in its one line, and whose fault it is."""

from __future__ import annotations

import pytest

from ddtree_ops.errors import ServerDied, ServerStalled
from ddtree_ops.flows.deploy import Deploy
from ddtree_ops.flows.progress import LoadNews, News
from ddtree_ops.flows.wait import Waited
from ddtree_ops.report.deployment import Outcome
from ddtree_ops.report.entries import triage_entries
from ddtree_ops.units.readiness import Died, Ready, Stalled
from tests.flows.host_model import ModelPlaybooks
from tests.flows.test_deploy import NEW, OLD, server, serving_old
from tests.triage.journals import written
from tests.triage.test_diagnose import UP, crash

EXITED = (1, "a.service: Main process exited, code=exited, status=70/SOFTWARE")
TITLED = "Died without an error in its log (code=exited, status=70/SOFTWARE)"


@pytest.mark.parametrize(
    ("lines", "reason", "said"),
    [
        ([*UP, EXITED], "crashed: what systemd's status says", "crashed: what systemd's status says"),
        ([*UP, EXITED], "", TITLED),
        ([(40, "ddtree launcher: refused: credential a: is empty (exit 78)"), EXITED], "x", "refused: credential a: is empty"),
        ([*UP, *crash(60, " TP0", "ValueError: bad")], "x", "ValueError: bad"),
        ([*UP, (1, "a.service: start operation timed out. Terminating.")], "x", "systemd gave up waiting for the start"),
        ([*UP, *crash(60, " TP0", "ValueError: Bearer sk-1")], "x", "ValueError: Bearer ***"),
    ],
)
def test_the_line_says_what_is_known_best(lines: list[tuple[int, str]], reason: str, said: str) -> None:
    with pytest.raises(ServerDied) as caught:
        Waited(Died(2.0, reason), triage_entries(written(lines))).check("h")
    assert caught.value.message == f"h: the server died after 2.0 s: {said}"


def test_without_a_report_the_reason_is_all() -> None:
    with pytest.raises(ServerStalled, match=r"h: the load stalled after 2\.0 s: no news one$"):
        Waited(Stalled(2.0, "no news\n\x1b[1mone"), None).check("h")
    assert Waited(Ready(3.0, "http"), None).check("h") == 3.0


def test_a_host_that_is_rebooted_meanwhile_is_no_failure_of_the_release() -> None:
    model = serving_old()
    restart, state = model.restart, model.state

    def loads() -> None:
        restart()
        model.active = "activating" if model.current == NEW.id else "active"

    def reboot(news: News) -> None:
        if isinstance(news, LoadNews) and news.waiting.segment == "weights" and model.boot == "b":
            model.boot = "c"
            restart()  # systemd does, at the boot

    model.restart = loads  # type: ignore[method-assign]
    model.state = lambda unit: state(unit) + "StatusText=weights\n" * (model.active == "activating")  # type: ignore[method-assign]
    report = Deploy(server(model), ModelPlaybooks(model), NEW, reboot).run()
    assert (report.outcome, report.exit_code, report.serving) == (Outcome.ROLLED_BACK, 8, OLD)
    assert str(report.error).startswith("ct200: the host was rebooted after ")
    assert "nothing is known against the release" in str(report.hint)
    assert report.failure is None
