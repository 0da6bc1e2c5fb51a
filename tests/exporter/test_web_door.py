"""What is refused before anything is read, and the signals that come before anything is served."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = "import sys; from ddtree_ops.cli import main; sys.exit(main())"
EARLY = """
import os, signal, sys
from ddtree_ops.exporter import signals
signals.hold()
for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
    os.kill(os.getpid(), number)
from ddtree_ops.exporter.app import serve
from ddtree_ops.exporter.web.door import opened
with opened("127.0.0.1:0", None) as door:
    serve(door, [])
    os.kill(os.getpid(), signal.SIGHUP)
print("closed")
"""
TWICE = """
import os, signal, time
from ddtree_ops.exporter import signals
signals.hold()
os.kill(os.getpid(), signal.SIGINT)
print("noted", flush=True)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(60)
"""


def python(code: str, *argv: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-c", code, *argv)
    limited = words if limit is None else ("/bin/sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *words)
    return subprocess.run(limited, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("--listen", "foo"), "'foo' is no address"),
        (("--listen", "127.0.0.1:99999"), "'127.0.0.1:99999' is no address"),
        (("--web-config", "/etc"), "/etc:1: is a directory"),
        (("--web-config", "web.fifo"), "web.fifo:1: is a FIFO"),
    ],
)
def test_what_can_not_be_served_is_told_before_anything_is_read(
    argv: tuple[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.getcwd())  # noqa: PTH109
    monkeypatch.chdir(tmp_path)
    os.mkfifo("web.fifo")
    done = python(COMMAND, "exporter", *argv)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "collector" not in done.stderr


@pytest.mark.processes
@pytest.mark.parametrize(("code", "printed"), [(EARLY, "closed\n"), (TWICE, "noted\n")])
def test_early_signals_end_it_well_and_a_hangup_does_not(code: str, printed: str) -> None:
    done = python(code)
    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


@pytest.mark.processes
def test_a_limit_that_is_too_low_is_named() -> None:
    done = python(COMMAND, "exporter", "--listen", "127.0.0.1:0", limit=6)
    assert done.returncode == 1
    assert "error: Too many open files: raise the limit" in done.stderr
    assert "write the output" not in done.stderr
