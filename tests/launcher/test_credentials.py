"""Credentials that can't be: refused at once, by name; and no word of a good one, whatever goes wrong with a request."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from sglang_ddtree.credentials import read_credential
from sglang_ddtree.events import Events, Garbled
from sglang_ddtree.exit_codes import ExitCode
from sglang_ddtree.probe import Endpoint, NotReady, Prober, generate_once
from sglang_ddtree.server_config import ConfigError, ProbeRequest
from tests.launcher.host import launch

SECRET = "s3cr3t-0123456789"  # noqa: S105 - a made-up one
REQUEST = ProbeRequest("The capital of France is", 8, 5.0)
UNUSABLE = [
    f"{SECRET}\n{SECRET}",
    f"{SECRET}\r{SECRET}",
    f" {SECRET}",
    f"{SECRET} ",
    f"{SECRET}\t",
    f"{SECRET}\x00",
    f"{SECRET}ä",
    "€",
]


@pytest.fixture
def credential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    return tmp_path / "api_key"


@pytest.mark.parametrize("text", ["", "\n", " ", " \n\n"])
def test_blank(credential: Path, text: str) -> None:
    credential.write_text(text)
    with pytest.raises(ConfigError, match=r"^credential api_key: is empty$"):
        read_credential("api_key")


@pytest.mark.parametrize("text", UNUSABLE)
def test_not_for_a_header(credential: Path, text: str) -> None:
    credential.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ConfigError, match=r"^credential api_key: must be one line of printable ASCII"):
        read_credential("api_key")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_usable(credential: Path, end: str) -> None:
    credential.write_text(f"a b~!'\"{end}", newline="")
    assert read_credential("api_key") == "a b~!'\""


@pytest.mark.processes
@pytest.mark.parametrize("key", ["", f"{SECRET}\n{SECRET}"])
def test_the_launcher_refuses_it_before_a_server_is_started(tmp_path: Path, key: str) -> None:
    launched = launch(tmp_path, "ready", key=key)
    try:
        assert launched.end() == ExitCode.REFUSED
        launched.wait_for("STATUS=refused: credential api_key: ")
        launched.journal.wait_for("ddtree launcher: refused: credential api_key: ", 60.0)
        assert "server_args" not in launched.log()
        assert SECRET not in launched.log() + launched.manager.told()
    finally:
        launched.close()


@pytest.mark.processes
def test_so_is_one_that_only_the_server_reads(tmp_path: Path) -> None:
    credentials = {"api_key": {"argument": "--api-key"}, "hf_token": {"environment": "HF_TOKEN"}}
    launched = launch(tmp_path, "ready", credentials=credentials)
    try:
        assert launched.end() == ExitCode.REFUSED
        launched.wait_for("STATUS=refused: credential hf_token: No such file")
    finally:
        launched.close()


@pytest.mark.parametrize("key", [f"{SECRET}\n{SECRET}", f"{SECRET}\r{SECRET}", f"{SECRET}€"])
def test_a_request_that_cannot_be_sent_tells_nothing_of_its_key(key: str) -> None:
    with pytest.raises(NotReady) as caught, echo() as port:
        generate_once(Endpoint("127.0.0.1", port, key), REQUEST)
    assert "s3cr3t" not in str(caught.value)


def test_the_probe_lives_on_and_keeps_the_key_to_itself(capfd: pytest.CaptureFixture[str]) -> None:
    with echo() as port, probing(Endpoint("127.0.0.1", port, f"{SECRET}\n{SECRET}")) as prober:
        said = read_until(capfd, "not ready: ")
        assert prober.alive
    assert "not ready: request, which carries the credential api_key: ValueError" in said
    assert "s3cr3t" not in said


def test_a_server_that_answers_with_the_key_does_not_spread_it(capfd: pytest.CaptureFixture[str]) -> None:
    with echo() as port, probing(Endpoint("127.0.0.1", port, SECRET)) as prober:
        said = read_until(capfd, "not ready: /generate")
        event = None if prober.events.empty() else prober.events.get()
    assert "[redacted]" in said
    assert SECRET not in said
    assert not isinstance(event, Garbled) or SECRET not in event.reason


class Probing:
    def __init__(self, endpoint: Endpoint) -> None:
        self.events = Events()
        self.prober = Prober(endpoint, REQUEST, self.events, 0.02)

    @property
    def alive(self) -> bool:
        return self.prober._thread.is_alive()


@contextlib.contextmanager
def probing(endpoint: Endpoint) -> Iterator[Probing]:
    running = Probing(endpoint)
    running.prober.start()
    try:
        yield running
    finally:
        running.prober.close()


def read_until(capfd: pytest.CaptureFixture[str], words: str) -> str:
    said, deadline = "", time.monotonic() + 60
    while words not in said and time.monotonic() < deadline:
        said += capfd.readouterr().err
    return said


@contextlib.contextmanager
def echo() -> Iterator[int]:
    """A server that complains of the Authorization header, and quotes it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            message = f'{{"error": {{"message": "no such key: {self.headers["Authorization"]}"}}}}'.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(message)))
            self.end_headers()
            self.wfile.write(message)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
