"""Programs over SSH: both outputs, their ends, and what is told of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddtree_ops.adapters.output import MOST_WORDS_BYTES
from ddtree_ops.adapters.ssh import SshShell
from ddtree_ops.errors import HostCommandFailed, HostTimedOut, Unreachable
from ddtree_ops.ports import Command
from tests.adapters.ssh_server import Connection, served

pytestmark = pytest.mark.processes

WINDOW = 2 << 20  # paramiko's: so much may come before somebody reads it


@pytest.fixture
def line(tmp_path: Path) -> Iterator[tuple[SshShell, Connection]]:
    with served(tmp_path, 10) as found:
        yield found


@pytest.fixture
def shell(line: tuple[SshShell, Connection]) -> SshShell:
    return line[0]


def script(text: str, timeout: float = 60.0) -> Command:
    return Command(("sh", "-c", text), timeout=timeout, ok=frozenset({0, 3}))


def test_output_exit_code_and_words(shell: SshShell) -> None:
    done = shell.run(script("echo out; echo err >&2; exit 3"))
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n", "err\n", 3)


def test_an_output_that_nobody_asks_for_stops_no_program(shell: SshShell) -> None:
    flood = f"head -c {2 * WINDOW} /dev/zero >&2; echo well; head -c {2 * WINDOW} /dev/zero >&2"
    done = shell.run(script(flood))
    assert done.stdout == "well\n"
    assert MOST_WORDS_BYTES <= len(done.stderr) < 2 * MOST_WORDS_BYTES
    with shell.stream(script(flood).argv) as stream:
        assert b"".join(stream.chunks()) == b"well\n"


def test_large_outputs_come_whole(shell: SshShell) -> None:
    done = shell.run(script(f"head -c {3 * WINDOW} /dev/zero; echo err >&2; head -c {WINDOW} /dev/zero"))
    assert (len(done.stdout), done.stderr) == (4 * WINDOW, "err\n")


def test_no_end_in_time(shell: SshShell) -> None:
    with pytest.raises(HostTimedOut, match=r"no end after 0\.5 s"):
        shell.run(script("while :; do echo x; sleep 0.1; done", timeout=0.5))
    assert shell.run(script("echo well")).stdout == "well\n"


def test_a_stream_that_ends_badly_says_what_the_program_said(shell: SshShell) -> None:
    with shell.stream(("sh", "-c", "echo a; echo why >&2; exit 4")) as stream:
        chunks = stream.chunks()
        assert next(chunks) == b"a\n"
        with pytest.raises(HostCommandFailed, match="ended with exit code 4: why"):
            next(chunks)


def test_closing_ends_whoever_waits(shell: SshShell) -> None:
    ended = threading.Event()
    with shell.stream(("sh", "-c", "echo a; exec sleep 60")) as stream:
        chunks = stream.chunks()
        next(chunks)

        def wait() -> None:
            assert not list(chunks)
            ended.set()

        threading.Thread(target=wait, daemon=True).start()
        stream.close()
        assert ended.wait(20)


def test_a_lost_connection_is_told_to_whoever_waits(shell: SshShell) -> None:
    with shell.stream(("sh", "-c", "echo a; exec sleep 60")) as stream:
        chunks = stream.chunks()
        next(chunks)
        shell.transport().close()
        with pytest.raises(Unreachable, match="a: the connection was lost"):
            next(chunks)
