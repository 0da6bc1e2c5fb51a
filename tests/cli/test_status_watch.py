"""`status --watch`: what is told of a fleet, on a terminal and in a pipe. Hosts of the tests of this file can't be reached."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from ddtree_ops.cli.watch_lines import Changes, document, facts, lines, words
from ddtree_ops.cli.watch_screen import Screen
from ddtree_ops.cli.watch_signs import blocks
from ddtree_ops.cli.watch_table import fitting, table, worst
from ddtree_ops.exporter.sight.build import sight
from ddtree_ops.exporter.sight.model import HostSight
from tests.exporter.fleet_model import NOW, Model, observed

LOADING = Model("ct201", state="activating", phase="weights", progress=0.43, eta=214, moved=1, answers=0, generated=None)
FAILED = Model("ct200", state="failed", exit_code=70, restarts=2, failures=(("a" * 16, "host_oom", "root", 65.0),))
LOST = Model("far", state=None, problem="far: no route to host")
SERVES = Model("ct202", queued=7)
INVENTORY = "all:\n  hosts:\n    far:\n      ansible_host: 127.0.0.1\n      ansible_port: 1\n"


def seen(*models: Model) -> list[HostSight]:
    return [sight(observed(model), NOW) for model in models]


def drawn(width: int, height: int = 24, symbols: bool = True) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(table(worst(seen(SERVES, LOADING, LOST, FAILED)), NOW, width, height, symbols))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_table() -> None:
    told = drawn(160).splitlines()
    assert [line.split()[0] for line in told[1:5]] == ["ct200", "far", "ct201", "ct202"]
    assert "✖ failed" in told[1]
    assert "host_oom 1 min ago" in told[1]
    assert "⊘ unreachable" in told[2]
    assert told[2].split()[-4:] == ["no", "route", "to", "host"]
    assert "━━━━━━━━━━━━  43%" in told[3]
    assert "weights, 3 min 34 s left" in told[3]
    assert "3/7" in told[4]
    assert told[-1].strip() == "1 failed, 1 unreachable, 1 loading, 1 serving. Ctrl-C ends."


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_table_fits_and_never_loses_host_and_state(width: int) -> None:
    told = drawn(width).splitlines()
    assert max(map(len, told)) <= width
    if width >= 80:
        assert "host_oom" in told[1]
        assert "43%" in told[3]
    assert all(host in "".join(told) for host in ("ct200", "✖ failed", "ct201", "◐ loading", "far", "⊘ unreachable"))


def test_table_of_a_plain_encoding_and_a_low_terminal() -> None:
    assert drawn(160, symbols=False).isascii()
    assert "2 rows don't fit" in drawn(160, height=6)


def test_a_long_name_leaves_room_for_the_state() -> None:
    console = Console(width=40, file=io.StringIO(), color_system=None)
    console.print(table(worst(seen(replace(FAILED, host="h" * 70))), NOW, 40, 24, True))
    assert isinstance(console.file, io.StringIO)
    assert "✖ failed" in console.file.getvalue()


@pytest.mark.parametrize("width", [10, 20, 40, 80, 160])
@pytest.mark.parametrize("height", [1, 5, 8, 24])
def test_table_is_never_higher_than_the_terminal(width: int, height: int) -> None:
    told = drawn(width, height).splitlines()
    assert len(told) < max(height, 5)  # heading, one row and the counts are always there
    assert max(map(len, told)) <= width


def test_screen_is_drawn_in_place_and_anew_after_a_resize() -> None:
    console = Console(width=20, height=6, file=io.StringIO(), force_terminal=True, color_system=None)
    screen = Screen(console)

    def told(text: str) -> str:
        assert isinstance(console.file, io.StringIO)
        before = len(console.file.getvalue())
        screen.draw(lambda _width, _height: text)
        return console.file.getvalue()[before:]

    assert told("a\nb") == "a\nb\n"
    assert told("c") == "\x1b[2A\x1b[Jc\n"
    console.width = 10
    assert told("d") == "\x1b[2J\x1b[Hd\n"
    assert told("1\n2\n3\n4\n5\n6\n7") == "\x1b[1A\x1b[J1\n2\n3\n4\n5\n"
    screen.begin()
    assert told("e") == "e\n"


def test_columns_go_one_by_one() -> None:
    found = worst(seen(SERVES, LOADING, FAILED))
    counts = [len(fitting(found, NOW, width)) for width in range(30, 220, 5)]
    assert counts == sorted(counts)
    assert counts[0] == 0


def test_blocks() -> None:
    assert blocks([None, 0.0, 5.0, 10.0]) == " ▁▄█"
    assert blocks([0.0, None]) == ""


def test_lines_on_change_only() -> None:
    changes = Changes(words)
    (host,) = changes.of(seen(FAILED))
    assert list(lines(host, "T", NOW)) == ["T  ct200  failed  crashed  host_oom 1 min ago  2 restarts"]
    assert list(changes.of(seen(replace(FAILED, running=9)))) == []
    assert len(list(changes.of(seen(replace(FAILED, restarts=3))))) == 1
    changes = Changes(facts)
    assert len(list(changes.of(seen(LOADING)))) == 1
    assert list(changes.of(seen(replace(LOADING, progress=0.44, eta=200)))) == []
    assert len(list(changes.of(seen(replace(LOADING, progress=0.51))))) == 1


def test_document_is_one_line() -> None:
    text = document(seen(replace(FAILED, model="ü\n\u202e"))[0], "T")
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text)["status"]["servers"][0]["failures"][0]["kind"] == "host_oom"


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(INVENTORY)
    program = "import sys; from ddtree_ops.cli import main; sys.exit(main())"
    return [sys.executable, "-c", program, "status", "--watch", "-i", str(inventory), "--host", "far", "--interval", "0.5"]


@pytest.mark.processes
def test_in_a_pipe(arguments: list[str]) -> None:
    with subprocess.Popen([*arguments, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        limit = threading.Timer(60, process.kill)
        limit.start()
        told = json.loads(process.stdout.readline())
        limit.cancel()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == ""
        assert process.stderr.read() == ""
    assert (told["schema"], told["host"], told["status"]["state"]) == ("ddtree-ops/status-change/v1", "far", "unreachable")
    assert process.returncode == 130


@pytest.mark.processes
def test_on_a_terminal(arguments: list[str]) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="100", LINES="20", PYTHONUTF8="1")
        os.execv(arguments[0], arguments)  # noqa: S606
    text = b""
    for part in _read(terminal):
        text += part
        if b"unreachable" in text and b"Ctrl-C ends" in text:
            os.write(terminal, b"\x03")
            break
    text += b"".join(_read(terminal))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert b"unreachable" in text
    assert text.rindex(b"\x1b[?25h") > text.rindex(b"\x1b[?25l"), "the cursor is hidden for good"
    assert b"Traceback" not in text


def _read(terminal: int) -> Iterator[bytes]:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1.0)[0]:
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the other end is gone
            return
        if not part:
            return
        yield part


@pytest.mark.processes
def test_a_reader_that_leaves_ends_it_at_once(arguments: list[str]) -> None:
    arguments[-1] = "300"
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        limit = threading.Timer(120, process.kill)
        limit.start()
        time.sleep(2)  # it waits for its next look
        process.stdout.close()
        assert process.wait() != -signal.SIGKILL  # the limit's: its next look would come later
        limit.cancel()
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.processes
def test_a_terminal_has_its_cursor_while_it_is_stopped(arguments: list[str]) -> None:
    arguments[-1] = "60"
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="100", LINES="20", PYTHONUTF8="1")
        os.execv("/bin/bash", ["bash", "-c", 'set -m; "$@"; echo "STOPPED $?"; fg >/dev/null', "bash", *arguments])  # noqa: S606
    text, stopped, resumed, ended = b"", -1, -1, False
    for part in _read(terminal):
        text += part
        if stopped < 0 and b"Ctrl-C ends" in text:
            stopped = len(text)
            os.write(terminal, b"\x1a")
        elif stopped >= 0 and resumed < 0 and b"STOPPED 148" in text:
            resumed = text.index(b"STOPPED")
        if resumed >= 0 and not ended and b"Ctrl-C ends" in text[resumed:]:
            ended = True
            os.write(terminal, b"\x03")
    os.close(terminal)  # what still runs is hung up
    os.waitpid(pid, 0)
    assert ended, text[-2000:]
    assert b"\x1b[?25h" in text[stopped:resumed], "no cursor while it is stopped"
    assert b"\x1b[?25l" in text[resumed:], "a cursor in the table"
    again = text[resumed : text.index(b"Ctrl-C ends", resumed)]
    assert not re.search(rb"\x1b\[\d*A", again), "drawn over what the shell wrote"
    assert text.rindex(b"\x1b[?25h") > text.rindex(b"\x1b[?25l")
