"""The supervisor with real processes: nothing of a program is left, whichever way its parent ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ddtree_ops.adapters import supervisor
from tests.hang import until

pytestmark = pytest.mark.processes

SECONDS = 60.0
SCRIPT = str(supervisor.__file__)
# A program as Ansible is one: a worker in a session of its own, and a daemon whose parent is gone (an ssh that stays).
NESTED = (
    "(setsid sh -c 'echo $$ >>{pids}; exec sleep 300' &); setsid sh -c 'echo $$ >>{pids}; exec sleep 300' & "
    "echo $$ >>{pids}; exec sleep 300"
)


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """The file in which the nested program's processes leave their pids; whatever lives at the end is killed."""
    file = tmp_path / "pids"
    file.touch()
    yield file
    for pid in file.read_text().split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def alive(pids: Path) -> list[int]:
    return [int(pid) for pid in pids.read_text().split() if running(int(pid))]


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def supervised(folder: Path, *argv: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", SCRIPT, str(folder / "pid"), str(os.getpid()), *argv)


@pytest.mark.parametrize(("program", "code"), [("exit 0", 0), ("exit 4", 4), ("kill -9 $$", 137)])
def test_the_exit_code_is_the_programs_own(tmp_path: Path, program: str, code: int) -> None:
    assert subprocess.run(supervised(tmp_path, "sh", "-c", program), check=False, timeout=SECONDS).returncode == code


def test_a_missing_program_is_said(tmp_path: Path) -> None:
    done = subprocess.run(supervised(tmp_path, "/no/such"), check=False, timeout=SECONDS, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (127, "/no/such: No such file or directory\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_everything(tmp_path: Path, pids: Path, number: signal.Signals) -> None:
    with subprocess.Popen(supervised(tmp_path, "sh", "-c", NESTED.format(pids=pids))) as process:
        until(lambda: len(alive(pids)) == 3, "all have started")
        assert (tmp_path / "pid").read_text() == str(process.pid)
        process.send_signal(number)
        assert process.wait(SECONDS) == 128 + number
        assert alive(pids) == []


def test_a_killed_parent_ends_everything_and_its_folder_goes(tmp_path: Path, pids: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    program = NESTED.format(pids=pids)
    parent = (
        "import os, subprocess, sys\n"
        f"subprocess.run([sys.executable, '-I', '-S', {SCRIPT!r}, {str(private / 'pid')!r}, str(os.getpid()), "
        f"'sh', '-c', {program!r}])"
    )
    with subprocess.Popen((sys.executable, "-c", parent)) as process:
        until(lambda: len(alive(pids)) == 3, "all have started")
        process.kill()
    until(lambda: not alive(pids) and not private.exists(), "all have ended")


def test_a_killed_supervisor_takes_the_program_with_it(tmp_path: Path) -> None:
    file = tmp_path / "program"
    with subprocess.Popen(supervised(tmp_path, "sh", "-c", f"echo $$ >{file}; exec sleep 300")) as process:
        until(lambda: file.exists() and file.read_text().strip(), "it has started")
        process.kill()
    until(lambda: not running(int(file.read_text())), "it has ended")


def test_a_parent_that_died_before_it_was_watched(tmp_path: Path) -> None:
    argv = (sys.executable, "-I", "-S", SCRIPT, str(tmp_path / "pid"), "1", "touch", str(tmp_path / "ran"))
    assert subprocess.run(argv, check=False, timeout=SECONDS).returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "ran").exists()
