"""The controller's side of the lock against the host's real program, here: what ends the program, and what is made of it."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.errors import DdtreeOpsError, Locked
from ddtree_ops.flows import lock
from ddtree_ops.flows.lock import HostLock, held
from ddtree_ops.flows.mistake import Mistake
from ddtree_ops.ports import Completed, Operator, Stream
from tests.flows.lock_model import HOLDER, LockModel
from tests.hang import until

pytestmark = pytest.mark.processes

SECONDS = 30.0  # nothing here takes so long

ANNA = Operator("anna", "laptop", 1, "deploy --host a")
BEN = Operator("ben", "desk", 2, "stop --break-lock --host a")


class Host:
    """This machine, with a state directory of its own. The next channel waits for a `way`, and is an `error` if there is one."""

    def __init__(self, state: Path) -> None:
        self._local = LocalShell("a")
        self.state = state
        self.way = threading.Event()
        self.way.set()
        self.channels = 0
        self.error: Exception | None = None

    @property
    def host(self) -> str:
        return "a"

    def run(self, command: object) -> Completed:
        raise AssertionError(command)

    def stream(self, argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        self.channels += 1
        self.way.wait(SECONDS)
        if self.error is not None:
            raise self.error
        wanted = json.dumps({**json.loads(argv[-1]), "state": str(self.state)})
        return self._local.stream((*argv[:-1], wanted))

    def signed(self) -> dict[str, object]:
        return dict(json.loads((self.state / "lock").read_text()))

    def end_program(self, number: signal.Signals) -> None:
        os.kill(int(str(self.signed()["holder_pid"])), number)


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    monkeypatch.setattr(lock, "AGAIN_SECONDS", 0.2)
    yield Host(tmp_path)


@dataclass(frozen=True)
class ModelHost:
    """A host of which only the lock's answers are modelled."""

    model: LockModel
    host: str = "a"

    def run(self, command: object) -> Completed:
        raise AssertionError(command)

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        stream = self.model.stream(argv[-1])
        yield stream
        stream.close()


def refused(held_lock: HostLock) -> DdtreeOpsError:
    found: list[DdtreeOpsError] = []

    def look() -> bool:
        try:
            held_lock.check()
        except DdtreeOpsError as error:
            found.append(error)
        return bool(found)

    until(look)
    return found[0]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_program_that_somebody_ends_comes_back(number: signal.Signals, host: Host) -> None:
    with held(host, ANNA) as mine:
        before = host.signed()
        host.end_program(number)
        until(lambda: host.signed()["holder_pid"] != before["holder_pid"])
        mine.check()
        assert host.signed()["token"] == before["token"] == mine.token
        with pytest.raises(Locked, match="locked by anna@laptop"), held(host, BEN):
            raise AssertionError("there is one holder")


def test_whoever_breaks_it_is_named_while_they_hold_it(host: Host) -> None:
    with held(host, ANNA) as mine, held(host, BEN, force=True):
        error = refused(mine)
        assert isinstance(error, Locked)
        assert error.message == f"a: the lock was taken from us by ben@desk (pid 2) since {host.signed()['since']}: {BEN.command}"


def test_whoever_broke_it_and_has_ended_is_named(host: Host) -> None:
    with held(host, ANNA) as mine:
        host.way.clear()
        with held(Host(host.state), BEN, force=True):
            pass
        host.way.set()
        error = refused(mine)
    assert error.message.endswith(f"{BEN.command} (has ended)")


def test_a_file_that_was_removed_is_told(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "BEAT_SECONDS", 0.1)
    with held(host, ANNA) as mine:
        (host.state / "lock").unlink()
        assert refused(mine).message == "a: the lock was taken from us: its file was emptied, overwritten or removed"


def test_a_file_that_was_overwritten_is_told(host: Host) -> None:
    with held(host, ANNA) as mine:
        program = int(str(host.signed()["holder_pid"]))
        (host.state / "lock").write_text("garbage")
        os.kill(program, signal.SIGTERM)
        assert refused(mine).message == "a: the lock was taken from us: its file was emptied, overwritten or removed"


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("words", ["garbage", "{}", '{"user": "carl", "pid": 7}'])
def test_of_a_file_that_says_nothing_the_process_is_named(host: Host, words: str, force: bool) -> None:
    with held(host, ANNA):
        pid = host.signed()["holder_pid"]
        (host.state / "lock").write_text(words)
        name = Path(f"/proc/{pid}/comm").read_text().strip()
        with pytest.raises(Locked) as told, held(host, BEN, force=force):
            raise AssertionError("there is one holder")
    process = f"process {pid} ({name})"
    assert told.value.message == f"a: locked by {process} there, of which the lock's file says nothing"
    wait = "--break-lock could not end it" if force else "wait until it has ended"
    assert told.value.hint == f"{wait}; on a, end {process}"


def test_a_hint_never_names_the_flag_that_was_given() -> None:
    model = LockModel(holder=HOLDER, stuck=True)
    with pytest.raises(Locked, match="locked by anna@laptop") as told, held(ModelHost(model), BEN, force=True):
        raise AssertionError("it can't be broken")
    assert told.value.hint == "--break-lock could not end it; on a, `lslocks` says which process has it"


@pytest.mark.parametrize("recorded", [True, False])
def test_whether_the_last_word_was_written_down(host: Host, recorded: bool) -> None:
    if not recorded:
        (host.state / "audit.jsonl").mkdir()
    with held(host, ANNA) as mine:
        assert mine.end({"event": "deploy", "outcome": "deployed"}) is recorded


def test_a_mistake_of_ours_is_not_taken_for_a_held_lock(host: Host) -> None:
    """As an import that comes late, and finds other sources."""
    with held(host, ANNA) as mine:
        host.error = ImportError("cannot import name 'x'")
        host.end_program(signal.SIGTERM)
        until(lambda: host.channels == 2)
        error = refused(mine)
    assert isinstance(error, Mistake)
    assert "ImportError: cannot import name 'x'" in error.message
