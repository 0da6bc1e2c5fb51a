"""Each record of the audit log that role service really writes counts once: over rotation, restarts, copies and torn lines."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType

import pytest

from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.audit import log as audit_log
from ddtree_ops.exporter.collectors.deploys import NAME, DeploysCollector
from ddtree_ops.ports import Command, Completed, Stream
from tests.exporter.attempts import counts, deploy, watching
from tests.exporter.shells import HostFolder

pytestmark = pytest.mark.processes

LOCK = Path(__file__).resolve().parents[2] / "roles/service/module_utils/ddtree_host/lock.py"


class Watched:
    """A host whose log had three attempts when the exporter first read it."""

    def __init__(self, root: Path) -> None:
        self.host, self.state = HostFolder(root), root / "own"
        self.state.mkdir()
        self.log = self.host.state / "audit.jsonl"
        self.collector = watching(self.host, self.state)
        self.host.audit(*(deploy(at=f"2026-11-30T09:00:0{number}Z") for number in range(3)))
        assert self.counts() == {"deploy/ok": 3}

    def restart(self) -> None:
        self.collector = watching(self.host, self.state)

    def counts(self) -> dict[str, float]:
        return counts(self.collector)

    def replace(self, how: Callable[[str], str]) -> None:
        """As sed -i, or a restored backup: the same name, another inode."""
        copy = self.log.with_name("copy")
        copy.write_text(how(self.log.read_text()))
        copy.replace(self.log)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = importlib.util.spec_from_file_location("host_lock", LOCK)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_counts_twice_over_restarts_and_rotation(
    watched: Watched, lock: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "AUDIT_BYTES", 20_000)
    for number in range(4, 201):
        lock.shorten(str(watched.log))
        lock.audit(str(watched.log), deploy(steps={"stage": number}))
        if number % 7 == 0:
            assert watched.counts() == {"deploy/ok": number}
        if number % 30 == 0:
            watched.restart()
    assert watched.counts() == {"deploy/ok": 200}
    assert counts(watching(watched.host))["deploy/ok"] < 200, "the log itself has forgotten some"


def test_two_rotations_while_nobody_looked(watched: Watched) -> None:
    kept = watched.log.rename(watched.log.with_name("elsewhere"))
    watched.host.audit(deploy("failed"))
    watched.log.rename(watched.log.with_name("audit.jsonl.1"))
    watched.host.audit(deploy("failed"), deploy("failed"))
    assert kept.exists(), "so that its inode isn't given to another"
    assert watched.counts() == {"deploy/ok": 3, "deploy/failed": 3}


def test_the_same_words_twice_are_two_records(watched: Watched) -> None:
    for number in range(1, 4):
        watched.host.audit(deploy("failed"))
        assert watched.counts() == {"deploy/ok": 3, "deploy/failed": number}


@pytest.mark.parametrize(
    "how",
    [
        lambda text: text,
        lambda text: text[: text.rstrip().rindex("\n") + 1],  # without the last line
        lambda text: text[text.index("\n") + 1 :],  # without the first
        lambda _: json.dumps({"at": "2026-11-29T00:00:00Z", **deploy("refused")}) + "\n",  # an old backup: its time tells
        lambda _: "",
    ],
)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_that_was_replaced_is_read_on(watched: Watched, how: Callable[[str], str], restarted: bool) -> None:
    watched.replace(how)
    assert watched.counts() == {"deploy/ok": 3}
    watched.host.audit(deploy("failed"))
    if restarted:
        watched.restart()
    assert watched.counts() == watched.counts() == {"deploy/ok": 3, "deploy/failed": 1}


@pytest.mark.parametrize("edited", [1, 2, 8, 17, 32])
@pytest.mark.parametrize("how", [lambda _: "", lambda line: line.replace("12.5", "1")])
def test_a_line_that_was_edited_counts_no_other_again(watched: Watched, how: Callable[[str], str], edited: int) -> None:
    """As `sed -i` would, so many lines before the end."""
    watched.host.audit(*(deploy(at=f"2026-11-30T09:01:{number:02}Z") for number in range(30)))
    assert watched.counts() == {"deploy/ok": 33}
    lines = watched.log.read_text().splitlines(keepends=True)
    lines[-1 - edited] = how(lines[-1 - edited])
    watched.replace(lambda _: "".join(lines))
    assert watched.counts() == {"deploy/ok": 33}
    for number in range(1, 4):
        watched.host.audit(deploy("failed"))  # all of one second
        assert watched.counts() == {"deploy/ok": 33, "deploy/failed": number}


def test_of_a_log_that_is_too_long_the_newest_are_read(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched.collector.problem is None
    monkeypatch.setattr(audit_log, "MOST_BYTES", 2000)
    watched.host.audit(*(deploy("refused", why="x" * 300) for _ in range(9)))
    watched.host.audit(deploy("failed", at="2026-11-30T10:00:01Z"))
    told = watched.counts()
    assert told["deploy/failed"] == 1
    assert 0 < told["deploy/refused"] < 9
    assert watched.counts() == told
    assert "audit.jsonl has " in str(watched.collector.problem)
    watched.host.audit(deploy("failed", at="2026-11-30T10:00:02Z"))
    assert watched.counts() == {**told, "deploy/failed": 2}
    watched.replace(lambda text: text[-1000:])
    assert watched.counts() == {**told, "deploy/failed": 2}
    assert watched.collector.problem is None


def test_one_that_was_written_anew_in_place(watched: Watched) -> None:
    watched.log.write_text("")
    watched.host.audit(*(deploy("failed", why="x" * 90) for _ in range(3)))
    assert watched.counts() == {"deploy/ok": 3, "deploy/failed": 3}


def test_a_line_that_is_half_written_waits(watched: Watched) -> None:
    whole = json.dumps({"at": "2026-11-30T10:00:00Z", **deploy("failed")})
    with watched.log.open("a") as file:
        file.write(whole[:50])
    assert watched.counts() == {"deploy/ok": 3}
    with watched.log.open("a") as file:
        file.write(whole[50:] + "\n")
    assert watched.counts() == watched.counts() == {"deploy/ok": 3, "deploy/failed": 1}


def test_lines_that_are_no_records_are_passed_over(watched: Watched) -> None:
    long = json.dumps(deploy("refused", why="x" * audit_log.LONGEST_LINE)).encode()
    with watched.log.open("ab") as file:
        file.writelines((b"\x00\xff torn [[[\n", b"[" * 50_000 + b"\n", ("ö" * 900 + "\n").encode(), long + b"\n"))
    watched.host.audit(deploy("failed"))
    assert watched.counts() == watched.counts() == {"deploy/ok": 3, "deploy/failed": 1}


def test_a_log_that_begins_anew_between_look_and_reading(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.host.audit(deploy("failed"))
    stream, moved = watched.host.shell.stream, list[Path]()

    def rotating(argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        if not moved:
            moved.append(watched.log.rename(watched.log.with_name("audit.jsonl.1")))
            watched.host.audit(*(deploy("refused", why="y" * 400) for _ in range(5)))
        return stream(argv)

    monkeypatch.setattr(watched.host.shell, "stream", rotating)
    assert watched.counts() == {"deploy/ok": 3, "deploy/failed": 1, "deploy/refused": 5}
    assert moved


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"counts": 1, "position": 2}',
        '{"format": 1, "counts": {"x": 1}, "position": {"marks": [], "newest": 0}}',
        '{"format": 1, "counts": {"attempts": 5}, "position": {"marks": [], "newest": 0}}',
        '{"format": 1, "counts": {"attempts": {"deploy": 1}}, "position": {"marks": [], "newest": 0}}',
        '{"format": 1, "counts": {"smoke_ok": "x"}, "position": {"marks": [], "newest": 0}}',
        '{"format": 1, "counts": {}, "position": {"marks": 5, "newest": 0}}',
    ],
)
def test_a_damaged_state_is_counted_anew(watched: Watched, text: str) -> None:
    (watched.state / NAME).write_text(text)
    watched.restart()
    assert watched.counts() == {"deploy/ok": 3}


def test_what_could_not_be_written_down_is_told_and_written_later(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.host.audit(deploy("failed"))
    both = {"deploy/ok": 3, "deploy/failed": 1}
    with monkeypatch.context() as full:
        full.setattr("ddtree_ops.exporter.state_file.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
        assert watched.counts() == both
        assert watched.collector.problem is not None
    assert watched.counts() == both  # no news, but the file is still to be written
    assert watched.collector.problem is None
    watched.restart()
    assert watched.counts() == both


def test_a_log_that_is_not_readable_is_a_failed_reading(tmp_path: Path) -> None:
    host = HostFolder(tmp_path)
    (host.state / "audit.jsonl").mkdir()
    with pytest.raises(HostCommandFailed):
        DeploysCollector(host.target(), None).read()


def test_a_directory_that_is_closed_to_us_is_a_failed_reading(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(command: Command) -> Completed:
        return Completed(command, 1, "", "stat: cannot statx '/var/lib/ddtree/audit.jsonl': Permission denied\n", 0.0)

    monkeypatch.setattr(watched.host.shell, "run", denied)
    with pytest.raises(HostCommandFailed, match="Permission denied"):
        watched.collector.read()
