"""The local shell and HTTP keep the promises of the ports that SSH keeps."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.adapters.local_http import LocalHttp
from ddtree_ops.errors import HostCommandFailed, HostTimedOut, Unreachable
from ddtree_ops.ports import Command, HttpRequest

pytestmark = pytest.mark.processes

SHELL = LocalShell("ct200")


def script(text: str, **options: object) -> Command:
    return Command(("sh", "-c", text), **options)  # type: ignore[arg-type]


def test_output_exit_code_and_words() -> None:
    done = SHELL.run(script("printf 'a\\377'; echo b >&2; exit 3", ok=frozenset({3})))
    assert (done.exit_code, done.stdout, done.stderr) == (3, "a\ufffd", "b\n")
    assert SHELL.run(script("kill -9 $$", ok=frozenset({137}))).exit_code == 137
    assert SHELL.run(Command(("cat",))).stdout == ""  # nothing to read from us
    with pytest.raises(HostCommandFailed, match=r"ct200: `sh -c .* ended with exit code 3: why") as raised:
        SHELL.run(script("echo first >&2; echo why >&2; exit 3"))
    assert raised.value.evidence == ("first", "why")
    with pytest.raises(HostCommandFailed, match="exit code 127"):
        SHELL.run(Command(("no-such-program",)))


@pytest.mark.parametrize("streamed", [False, True])
def test_commands_run_in_a_directory_that_every_user_may_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, streamed: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if streamed:
        with SHELL.stream(("pwd",)) as stream:
            assert b"".join(stream.chunks()) == b"/\n"
    else:
        assert SHELL.run(Command(("pwd",))).stdout == "/\n"


def test_what_systemd_gave_to_us_is_not_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/systemd/notify")
    assert "NOTIFY_SOCKET" not in SHELL.run(Command(("env",))).stdout


def test_a_flood_ends() -> None:
    with pytest.raises(HostCommandFailed, match="`yes` prints more than 1 MiB"):
        SHELL.run(Command(("yes",), most_bytes=1 << 20))
    with pytest.raises(HostCommandFailed, match="prints more than 2 MiB"):
        LocalShell("ct200", 2 << 20).run(Command(("yes",)))
    assert len(SHELL.run(script("yes | head -c 1000000 >&2")).stderr) <= 131072


def test_a_program_that_does_not_end_is_ended_with_its_children() -> None:
    begin = time.monotonic()
    with pytest.raises(HostTimedOut, match=r"no end after 0\.3 s"):
        SHELL.run(script("sleep 377.25 & sleep 377.25", timeout=0.3))
    with pytest.raises(HostTimedOut):
        SHELL.run(script("sleep 377.25 & exit 0", timeout=0.3))  # a child keeps the output open
    assert time.monotonic() - begin < 100
    while left := [process for process in Path("/proc").glob("[0-9]*") if b"377.25" in _line(process)]:  # SIGKILL takes a moment
        assert time.monotonic() - begin < 200, left
        time.sleep(0.02)


def _line(process: Path) -> bytes:
    with suppress(OSError):
        return (process / "cmdline").read_bytes()  # a zombie has none
    return b""


def test_streams() -> None:
    with SHELL.stream(("cat",)) as stream:
        chunks = stream.chunks()
        stream.send(b"one")
        assert next(chunks) == b"one"
        threading.Timer(0.1, stream.close).start()
        assert list(chunks) == []
        with pytest.raises(Unreachable):
            stream.send(b"two" * 100000)
    with SHELL.stream(("sh", "-c", "echo a; echo why >&2; exit 4")) as stream, pytest.raises(HostCommandFailed, match="4: why"):
        list(stream.chunks())
    with pytest.raises(HostCommandFailed, match="no-such-program"), SHELL.stream(("no-such-program",)):
        pass


@contextmanager
def answering(*pieces: bytes, pause: float = 0.0) -> Iterator[int]:
    """A port that answers once."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                client, _ = server.accept()
                with client:
                    client.recv(65536)
                    for piece in pieces:
                        client.sendall(piece)
                        time.sleep(pause)

        thread = threading.Thread(target=answer)
        thread.start()
        yield server.getsockname()[1]
        server.close()
        thread.join(5)


def test_http() -> None:
    http = LocalHttp()
    with answering(b"HTTP/1.1 503 no\r\nContent-Type: text/x\r\nContent-Length: 2\r\n\r\nhi") as port:
        got = http.request(HttpRequest(port, "/health"))
        assert (got.status, got.body, got.content_type) == (503, b"hi", "text/x")
    assert http.request(HttpRequest(port, "/health")).status == 0
    for broken in (b"", b"no http\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"):
        with answering(broken) as port:
            assert http.request(HttpRequest(port, "/health")).status == 0
    with answering(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 65536] * 40) as port:
        assert "more than 1 MiB" in str(http.request(HttpRequest(port, "/metrics", most_bytes=1 << 20)).problem)
    with answering(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 9, pause=0.1) as port, pytest.raises(TimeoutError):
        http.request(HttpRequest(port, "/metrics", timeout=0.3))
