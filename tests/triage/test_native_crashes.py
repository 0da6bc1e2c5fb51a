"""Real programs crash in native code; what they print is read back."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ddtree_ops.triage.block import Block, Language, Origin
from tests.triage.native import of_process, of_text

pytestmark = pytest.mark.processes

PYTHON = """
import ctypes, faulthandler, os, sys, threading
faulthandler.enable(all_threads=sys.argv[2] == "all")
def rest(event): event.wait()
def launch(how):
    if how == "segv": ctypes.string_at(8)
    if how == "abort": os.abort()
    if how == "bus": os.kill(os.getpid(), 7)
    if how == "fatal": ctypes.pythonapi.Py_FatalError(b"the pool: slot 3 is gone")
    if how == "dump": faulthandler.dump_traceback()
    if how == "later":
        faulthandler.dump_traceback_later(0.05)
        rest(done)
        faulthandler.cancel_dump_traceback_later()
def event_loop(how): launch(how)
done = threading.Event()
threading.Thread(target=rest, args=(done,), daemon=True).start()
threading.Timer(0.3, done.set).start() if sys.argv[1] == "later" else None
event_loop(sys.argv[1])
"""

CPP = """
#include <stdexcept>
#include <thread>
#include <cstdlib>
#include <string>
namespace pool { struct Gone : std::runtime_error { using std::runtime_error::runtime_error; }; }
int main(int count, char** words) {
    std::string how = words[1];
    if (how == "throw") throw pool::Gone(words[2]);
    if (how == "number") throw 5;
    if (how == "thread") { std::thread running([] {}); }
    if (how == "free") { char* p = (char*)malloc(3000); char* volatile q = p; malloc(10); free(p); free(q); }
    return 0;
}
"""


def python(how: str, threads: str = "all") -> list[str]:
    argv = (sys.executable, "-c", PYTHON, how, threads)
    return subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False).stderr.splitlines()


def one(lines: list[str]) -> Block:
    (block,) = of_process(lines)
    return block


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("no g++ here")
    folder = tmp_path_factory.mktemp("cpp")
    source, binary = folder / "crash.cpp", folder / "crash"
    source.write_text(CPP, "utf-8")
    subprocess.run(("g++", "-w", "-O0", "-pthread", "-o", str(binary), str(source)), check=True, timeout=120)
    return binary


def cpp(program: Path, *words: str) -> list[str]:
    done = subprocess.run((str(program), *words), capture_output=True, text=True, timeout=30, check=False)
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("how", "kind"),
    [("segv", "Segmentation fault"), ("abort", "Aborted"), ("bus", "Bus error"), ("fatal", "the pool: slot 3 is gone")],
)
def test_fatal_errors_with_every_threads_stack(how: str, kind: str) -> None:
    block = one(python(how))
    assert block.origin is Origin.THREADS
    assert [(item.type, item.message, item.frames) for item in block.exceptions] == [(f"Fatal Python error: {kind}", "", ())]
    waiting, crashed = block.threads
    assert [thread.current for thread in block.threads] == [False, True]
    assert [frame.function for frame in crashed.frames][:3] == ["<module>", "event_loop", "launch"]
    assert waiting.frames[-1].function == "wait"
    assert crashed.id is not None


def test_a_stack_alone_is_the_current_one() -> None:
    (thread,) = one(python("segv", "one")).threads
    assert thread.current
    assert [frame.function for frame in thread.frames][:3] == ["<module>", "event_loop", "launch"]


@pytest.mark.parametrize("how", ["dump", "later"])
def test_a_dump_of_the_living_has_no_exception(how: str) -> None:
    block = one(python(how))
    assert block.exceptions == ()
    assert len(block.threads) >= 2


@pytest.mark.parametrize(
    "message",
    ["grid of 0 blocks", "one\ntwo", "a gap:\n\nand more", "  indented", "what(): quoted", "ends with a quote'", "ünïcode ✓", ""],
)
@pytest.mark.parametrize("reader", [of_process, of_text])
def test_cpp_messages_come_back_whole(program: Path, message: str, reader: object) -> None:
    assert callable(reader)
    (block,) = reader(cpp(program, "throw", message))
    (exception,) = block.exceptions
    assert (exception.type, exception.language) == ("pool::Gone", Language.CPP)
    assert exception.message.strip() == message.strip()


def test_an_exception_without_message_and_a_thread_that_was_destroyed(program: Path) -> None:
    assert [(item.type, item.message) for item in one(cpp(program, "number")).exceptions] == [("int", "")]
    (exception,) = one(cpp(program, "thread")).exceptions
    assert (exception.type, exception.message) == ("std::terminate", "terminate called without an active exception")


def test_glibcs_word_is_a_line_without_exception(program: Path) -> None:
    block = one(cpp(program, "free"))
    assert (block.origin, block.exceptions) == (Origin.LINE, ())
    assert "double free" in block.text


def test_two_processes_crash_at_once_line_by_line(program: Path) -> None:
    from tests.triage.journals import written
    from tests.triage.native import read

    mine, other = cpp(program, "throw", "first\nsecond"), python("segv")
    width = max(len(mine), len(other))
    pairs = [((7, line), (8, more)) for line, more in zip(mine + [""] * width, other + [""] * width, strict=False)]
    blocks = read(written([item for pair in pairs for item in pair]))
    assert {(block.pid, block.origin) for block in blocks} == {(7, Origin.TERMINATE), (8, Origin.THREADS)}
    assert next(block for block in blocks if block.pid == 7).ending.message == "first\nsecond"
    assert [len(block.threads) for block in blocks if block.pid == 8] == [2]
