"""The lock's program as the controller runs it: `python3 -I -c PROGRAM ARGUMENT`, with its input open."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops import assets

pytestmark = pytest.mark.processes

Start = Callable[..., "Holder"]
TERMINATED = 128 + signal.SIGTERM


class Holder:
    """One controller's channel."""

    def __init__(self, state: Path, token: str, ending: float = 5.0, **more: Any) -> None:
        wanted = {"user": "anna", "controller": "laptop", "pid": 1, "command": token, "token": token, "break": False}
        text = json.dumps({**wanted, "state": str(state), **more})
        program = assets.host_program("lock").read_text().replace("ENDING_SECONDS = 5.0", f"ENDING_SECONDS = {ending}")
        self.process = subprocess.Popen(
            (sys.executable, "-I", "-c", program, text), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def says(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def send(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def hang_up(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(10)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    held: list[Holder] = []

    def begin(token: str, **more: Any) -> Holder:
        held.append(Holder(tmp_path, token, **more))
        return held[-1]

    yield begin
    for one in held:
        one.process.kill()
        one.process.wait(10)
        for stream in (one.process.stdin, one.process.stdout):
            if stream is not None:
                stream.close()


def events(state: Path) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in (state / "audit.jsonl").read_text().splitlines()]
    return [(line["command"], line["event"]) for line in lines]


def test_the_second_is_told_who_holds_it(start: Start, tmp_path: Path) -> None:
    assert start("a").says() == {"locked": True}
    second = start("b")
    said = second.says()
    assert second.process.wait(10) == 9
    assert (said["locked"], said["holder"]["user"], said["holder"]["command"]) == (False, "anna", "a")
    assert events(tmp_path) == [("a", "begun"), ("b", "locked out")]


def test_the_last_word_is_recorded_and_frees_it(start: Start, tmp_path: Path) -> None:
    first = start("a")
    first.says()
    first.send("")  # a sign of life
    first.send(json.dumps({"event": "deploy", "outcome": "deployed"}))
    assert first.says() == {"ended": True, "recorded": True}
    assert first.process.wait(10) == 0
    assert start("b").says() == {"locked": True}
    assert events(tmp_path) == [("a", "begun"), ("a", "deploy"), ("b", "begun")]


def test_a_last_word_that_cannot_be_written_is_told(start: Start, tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    first = start("a")
    first.says()
    first.send(json.dumps({"event": "deploy", "outcome": "deployed"}))
    assert first.says() == {"ended": True, "recorded": False}
    assert first.process.wait(10) == 0


def test_a_controller_that_is_gone_frees_it(start: Start, tmp_path: Path) -> None:
    first = start("a")
    first.says()
    assert first.hang_up() == 0
    assert events(tmp_path)[-1] == ("a", "controller lost")
    assert start("b").says() == {"locked": True}


def test_a_laptop_that_says_nothing_any_more_frees_it(start: Start, tmp_path: Path) -> None:
    first = start("a", silence=0.3)
    first.says()
    assert first.process.wait(10) == 0
    assert events(tmp_path)[-1] == ("a", "controller lost")


def test_a_killed_program_frees_it_though_its_words_stay(start: Start, tmp_path: Path) -> None:
    first = start("a")
    first.says()
    first.process.send_signal(signal.SIGKILL)
    first.process.wait(10)
    assert json.loads((tmp_path / "lock").read_text())["command"] == "a"
    assert start("b").says() == {"locked": True}


def test_our_own_new_channel_takes_over(start: Start, tmp_path: Path) -> None:
    first = start("a")
    first.says()
    again = start("a")
    assert again.says() == {"locked": True}
    assert first.process.wait(10) == TERMINATED
    assert events(tmp_path) == [("a", "begun")], "one attempt, whatever its connection went through"


def test_whoever_ends_the_program_is_written_down_and_takes_nothing(start: Start, tmp_path: Path) -> None:
    first = start("a")
    first.says()
    first.process.terminate()
    assert first.process.wait(10) == TERMINATED
    ended = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[-1])
    name = Path("/proc/self/comm").read_text().strip()
    assert (ended["event"], ended["why"]) == ("controller lost", f"its program here was ended by process {os.getpid()} ({name})")
    assert start("a", again=True).says() == {"locked": True}
    assert events(tmp_path) == [("a", "begun"), ("a", "controller lost"), ("a", "controller back")]


def test_a_controller_that_comes_back_hears_of_whoever_held_it_meanwhile(start: Start, tmp_path: Path) -> None:
    for token in ("a", "b"):
        one = start(token)
        one.says()
        one.hang_up()
    said = start("a", again=True).says()
    assert (said["locked"], said["held"], said["holder"]["command"]) == (False, False, "b")
    assert events(tmp_path)[-1] == ("a", "locked out")
    assert start("a").says() == {"locked": True}, "as a new attempt it may"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_removed_file_holds_nobody(replaced: bool, start: Start, tmp_path: Path) -> None:
    """A second controller would hold another file by the same name."""
    first = start("a")
    first.says()
    (tmp_path / "lock").unlink()
    if replaced:
        assert start("b").says() == {"locked": True}
    first.send("")
    assert first.process.wait(10) == 0
    assert ("a", "controller lost") in events(tmp_path)
    assert start("a", again=True).says()["locked"] is False


def test_it_can_be_broken_and_the_former_holder_hears_of_it(start: Start, tmp_path: Path) -> None:
    first = start("a")
    first.says()
    assert start("b", **{"break": True}).says() == {"locked": True}
    assert first.process.wait(10) == TERMINATED
    again = start("a", again=True).says()
    assert (again["locked"], again["held"], again["holder"]["command"]) == (False, True, "b")
    assert events(tmp_path) == [("a", "begun"), ("b", "lock broken"), ("b", "begun"), ("a", "locked out")]


def test_a_program_that_stands_still_is_killed_by_whoever_breaks_it(start: Start, tmp_path: Path) -> None:
    first = start("a")
    first.says()
    first.process.send_signal(signal.SIGSTOP)
    assert start("b", ending=0.3, **{"break": True}).says() == {"locked": True}
    assert first.process.wait(10) == -signal.SIGKILL
    assert events(tmp_path) == [("a", "begun"), ("b", "lock broken"), ("b", "begun")]


@pytest.mark.parametrize(
    "words", ["", "garbage", "[1]", '{"holder_pid": 1, "user": "carl"}', '{"holder_pid": "x"}', "of one who has ended"]
)
@pytest.mark.parametrize("forced", [False, True])
def test_a_file_that_does_not_know_its_holder(start: Start, tmp_path: Path, words: str, forced: bool) -> None:
    """The kernel knows who has it; what the file says of somebody else is not told."""
    if words == "of one who has ended":
        start("a").hang_up()
    else:
        (tmp_path / "lock").write_text(words)
    flock = (
        "import fcntl,sys,time; fcntl.flock(file := open(sys.argv[1], 'r+'), fcntl.LOCK_EX); print(flush=True); time.sleep(60)"
    )
    other = subprocess.Popen((sys.executable, "-c", flock, tmp_path / "lock"), stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        other.stdout.readline()
        said = start("b", **{"break": forced}).says()
        name = Path(f"/proc/{other.pid}/comm").read_text().strip()
        assert said == {"locked": False, "held": True, "holder": {}, "by": {"pid": other.pid, "name": name}}
        assert other.poll() is None
    finally:
        other.kill()
        other.communicate()


def test_only_the_locks_own_program_is_ever_ended(start: Start, tmp_path: Path) -> None:
    """A torn or forged file may name any process."""
    first = start("a")
    first.says()
    other = subprocess.Popen(("sleep", "60"))
    try:
        forged = json.loads((tmp_path / "lock").read_text()) | {"holder_pid": other.pid}
        (tmp_path / "lock").write_text(json.dumps(forged))
        assert start("b", **{"break": True}).says()["locked"] is False
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_look_doesnt_keep_anyone_out(start: Start, tmp_path: Path) -> None:
    """Whoever asks whether it is held holds it shared for a moment."""
    (tmp_path / "lock").touch()
    descriptor = os.open(tmp_path / "lock", os.O_RDONLY)
    look = "import fcntl,sys,time; fcntl.flock(int(sys.argv[1]), fcntl.LOCK_SH); print(flush=True); time.sleep(0.1)"
    with subprocess.Popen(
        (sys.executable, "-c", look, str(descriptor)), pass_fds=(descriptor,), stdout=subprocess.PIPE
    ) as looking:
        os.close(descriptor)
        assert looking.stdout is not None
        looking.stdout.readline()
        assert start("a").says() == {"locked": True}
