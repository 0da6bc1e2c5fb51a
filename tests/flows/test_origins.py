"""Asking the source never holds a report up for long, and never is the reason that there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ddtree_ops.errors import HostCommandFailed, Refused, Unreachable, UsageError
from ddtree_ops.flows import origins
from ddtree_ops.flows.origins import from_host, from_tree
from ddtree_ops.ports import Command, Completed
from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.report.failure import FailureReport
from ddtree_ops.triage.origins import PARAMETER_TRACE, UNTRACED
from tests.flows.host_model import HostModel, ModelShell
from tests.triage.sources import put_together

CASES = Path(__file__).parent.parent / "cases" / "sources"


def report(case: str = "budget_is_a_constant") -> FailureReport:
    return triage_bytes([(CASES / case / "log.txt").read_bytes()])


def note(found: FailureReport) -> str:
    (told,) = (event.text for event in found.events if event.kind == UNTRACED)
    return told


def nothing(_: str) -> None:
    """A caller that shows no progress."""


@pytest.mark.parametrize(
    "error",
    [
        UsageError("no such tree"),
        Unreachable("the connection was lost"),
        HostCommandFailed("exit 1"),
        OSError("disk full"),
        RecursionError("too deep"),
        MemoryError(),
        KeyError("x"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_goes_wrong_only_costs_its_own_lines(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(origins, "_ask", fail)
    before = report()
    after = from_tree(before, CASES, nothing)
    assert after.failures == before.failures
    assert note(after).startswith("the numbers' parameters weren't followed: ")
    assert "ddtree-ops params trace speculative_num_draft_tokens --source " in note(after)
    assert note(after) in after.to_markdown().replace("\\", "")


def test_a_tree_that_takes_too_long_is_left_out_and_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[threading.Event] = []

    def slow(_root: object, _tree: object, _tell: object, stop: threading.Event) -> None:
        seen.append(stop)
        stop.wait(300)

    monkeypatch.setattr(origins, "_ask", slow)
    began = time.monotonic()
    after = from_tree(report(), put_together_nothing(), nothing, 0.05)
    assert time.monotonic() - began < 100
    assert "wasn't read within 0.05 s" in note(after)
    assert seen[0].is_set()


def put_together_nothing() -> Path:
    return CASES / "source-trees" / "engine"


def test_a_tree_that_is_none_is_told(tmp_path: Path) -> None:
    assert note(from_tree(report(), tmp_path, nothing))


@pytest.mark.parametrize("change", ["no numbers", "no failure"])
def test_where_there_is_nothing_to_follow_nothing_is_opened(change: str, tmp_path: Path) -> None:
    before = report()
    root = before.root
    assert root
    failures = (replace(root, numbers=()),) if change == "no numbers" else ()
    asked = replace(before, failures=failures)
    assert from_tree(asked, tmp_path, nothing) is asked


def test_the_steps_of_a_path_are_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    told: list[str] = []
    tree = put_together(tmp_path / "tree", ("engine", "naive"))
    found = from_tree(report(), tree, told.append)
    steps = [event.text for event in found.events if event.kind == PARAMETER_TRACE]
    assert any("in GraphRunner.__init__" in step or "in __init__" in step for step in steps)
    assert steps[0].startswith("speculative_num_draft_tokens reaches GraphRunner.tokens_per_request, 1 of ")
    again = FailureReport.from_data(found.to_data())
    assert again.to_terminal(colour=False) == found.to_terminal(colour=False)
    assert len(told) <= 1


def test_names_of_a_log_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tree = put_together(tmp_path / "tree", ("engine",))
    opened: list[str] = []

    def watched(original: Callable[..., object]) -> Callable[..., object]:
        def watch(path: Path, *args: object, **named: object) -> object:
            opened.append(str(path))
            return original(path, *args, **named)

        return watch

    for name in ("open", "read_bytes", "read_text"):
        monkeypatch.setattr(Path, name, watched(getattr(Path, name)))
    from_tree(report("hostile_names"), tree, nothing)
    assert [name for name in opened if name.startswith(f"{tree}/") and name.endswith(".py")]
    assert not [name for name in opened if "passwd" in name or "shadow" in name or "environ" in name]


class Linked(ModelShell):
    """A host with this link at current."""

    link = "releases/lab-1\n"

    def run(self, command: Command) -> Completed:
        assert command.argv[:2] == ("readlink", "--")
        return Completed(command, 0 if self.link else 1, self.link, "", 0.0)


@pytest.mark.parametrize(
    ("file", "link", "release"),
    [
        ("/opt/ddtree/current/venv/lib/python3.12/site-packages/sglang/a.py", "releases/lab-1\n", "lab-1"),
        ("/opt/ddtree/current/venv/lib/python3.12/site-packages/sglang/a.py", "/opt/ddtree/releases/lab-2\n", "lab-2"),
        ("/opt/ddtree/releases/lab-3/venv/lib/python3.12/site-packages/sglang/a.py", "releases/lab-1\n", "lab-3"),
        ("/opt/ddtree/releases/../../etc/x.py", "releases/lab-1\n", "lab-1"),
        ("/opt/ddtree/releases/a b;rm/x.py", "releases/lab-1\n", "lab-1"),
        ("/opt/ddtree/releases/lab-3/a.py", "", "lab-3"),
        ("/opt/a.py", "", None),
        ("/opt/a.py", "../../etc\n", None),
    ],
)
def test_the_release_that_the_frames_are_of(file: str, link: str, release: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    before = report()
    root = before.root
    assert root
    frames = (replace(root.exceptions[-1].frames[-1], file=file),)
    asked = replace(before, failures=(replace(root, exceptions=(replace(root.exceptions[-1], frames=frames),)),))
    shell = Linked(HostModel())
    monkeypatch.setattr(Linked, "link", link)
    if release is None:
        with pytest.raises(Refused):
            origins.release_of(asked, shell)
        assert "has no current release" in note(from_host(asked, shell, nothing))
    else:
        assert origins.release_of(asked, shell) == release
