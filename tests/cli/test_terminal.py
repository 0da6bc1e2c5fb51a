"""On a terminal: one that understands no codes, and one that is closed while we work."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import PROJECT, run

pytestmark = pytest.mark.processes

SECONDS = 60.0
WORK = """
import signal, sys, tempfile, threading
from pathlib import Path
from ddtree_ops.cli import interrupting
from ddtree_ops.cli.show import show_json
interrupting.end_by_signal()
with tempfile.TemporaryDirectory(dir=sys.argv[1]):
    try:
        Path(sys.argv[1], "ready").touch()
        print("working", flush=True)
        threading.Event().wait(20)
    except KeyboardInterrupt:
        print("this has no reader", flush=True)
        Path(sys.argv[1], "orderly").touch()
"""


def on_terminal(*argv: str, **env: str) -> tuple[subprocess.Popen[bytes], int]:
    """The process, and our end of its terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", *argv],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=lambda: os.login_tty(theirs),  # noqa: PLW1509 - there are no threads here
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **env},
    )
    os.close(theirs)
    return process, ours


def read_all(ours: int) -> bytes:
    said = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:  # EIO: the other end is closed
            return said
        if not data:
            return said
        said += data


def test_a_closed_terminal_is_an_orderly_end(tmp_path: Path) -> None:
    process, ours = on_terminal(WORK, str(tmp_path))
    said = b""
    while not said.endswith(b"\n"):  # before that its print() may still be at work
        said += os.read(ours, 100)
    os.close(ours)
    assert process.wait(SECONDS) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orderly", "ready"]


def test_nohup_is_respected(tmp_path: Path) -> None:
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + WORK
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, cwd=PROJECT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"working\n"
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.terminate()
    assert process.wait(SECONDS) == 0
    process.stdout.close()


@pytest.mark.parametrize(("term", "coloured"), [("dumb", False), ("xterm-256color", True)])
def test_a_dumb_terminal_gets_no_codes(term: str, coloured: bool) -> None:
    code = "from ddtree_ops.cli import main; main()"
    process, ours = on_terminal(code, "plan", "--host", "x", "-i", "/nowhere", TERM=term, NO_COLOR="")
    said = read_all(ours)
    os.close(ours)
    assert process.wait(SECONDS) == 2
    assert b"no inventory at /nowhere" in said
    assert (b"\x1b[" in said) == coloured


def test_a_dumb_terminal_gets_no_drawing() -> None:
    code = "from ddtree_ops.cli.view import make_view; print(type(make_view()).__name__, type(make_view(('a', 'b'))).__name__)"
    for term, views in (("dumb", b"PlainView PlainView"), ("xterm", b"LiveView TableView")):
        process, ours = on_terminal(code, TERM=term, PYTHONUTF8="1")
        assert views in read_all(ours)
        os.close(ours)
        assert process.wait(SECONDS) == 0


@pytest.mark.parametrize(
    ("name", "codes"),
    [("deploy", "6 7 8 9 10 130"), ("rollback", "4 7 8 9 10 130"), ("restart", "4 5 9 130"), ("stop", "3 9 130")],
)
def test_help_names_the_exit_codes(name: str, codes: str) -> None:
    told = " ".join(run(name, "--help").stdout.split()).partition("Exit codes:")[2]
    assert all(f" {code} " in told for code in codes.split()), told
    assert " 9 locked by another" in " ".join(run("--help").stdout.split())
