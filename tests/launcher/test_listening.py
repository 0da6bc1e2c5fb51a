"""The server's port in somebody else's hands: before the start, and in the middle of a load."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sglang_ddtree.exit_codes import ExitCode
from sglang_ddtree.listening import PortUnusable, check_free, is_foreign
from tests.launcher.host import launch
from tests.ports import free_port

ANSWER = json.dumps({"text": " Paris.", "meta_info": {"finish_reason": {"type": "length"}}})
FOREIGN = f"""
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write({ANSWER!r}.encode())
    do_POST = do_GET
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@contextlib.contextmanager
def foreign(port: int) -> Iterator[None]:
    """Another process that answers on the port as a ready server does."""
    process = subprocess.Popen((sys.executable, "-c", FOREIGN, str(port)), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert time.monotonic() < deadline
        yield
    finally:
        process.kill()
        process.wait()


@pytest.mark.processes
def test_a_taken_port_ends_the_start_at_once(tmp_path: Path) -> None:
    port = free_port()
    with foreign(port):
        launched = launch(tmp_path, "ready", port=port)
        try:
            assert launched.end(5.0) == ExitCode.CRASHED
            told = launched.wait_for(f"STATUS=crashed: port {port} is taken by another process\n")
        finally:
            launched.close()
    assert "READY=1" not in told
    assert "server_args" not in launched.log(), "no server was started"
    assert launched.boots()[0]["outcome"] == "crashed"


@pytest.mark.processes
def test_a_port_taken_during_the_load_is_not_ready(tmp_path: Path) -> None:
    launched = launch(tmp_path, "stall")
    try:
        launched.wait_for("STATUS=weights")
        with foreign(launched.port):
            assert launched.end() == ExitCode.CRASHED
        told = launched.wait_for(f"STATUS=crashed: port {launched.port} is taken by another process\n")
    finally:
        launched.close()
    assert "READY=1" not in told


EVERY = "0.0.0.0"  # noqa: S104 - the address in question


@pytest.mark.parametrize(("mine", "theirs"), [("127.0.0.1", EVERY), (EVERY, "127.0.0.1"), ("::1", "::1")])
def test_every_address_that_would_be_in_the_way(mine: str, theirs: str) -> None:
    with socket.socket(socket.AF_INET6 if ":" in theirs else socket.AF_INET) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((theirs, 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortUnusable, match=f"^port {port} is taken by another process$"):
            check_free(mine, port)
        assert not is_foreign(port, [os.getpid()])
        assert is_foreign(port, [os.getppid()])
    check_free(mine, port)
    assert not is_foreign(port, [os.getpid()])


def test_closed_connections_of_the_former_server_are_not_in_the_way() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = listener.accept()
            accepted.close()  # the server closes first: TIME_WAIT stays on its port
            assert client.recv(1) == b""
    check_free("127.0.0.1", port)


def test_an_address_that_the_host_does_not_have() -> None:
    with pytest.raises(PortUnusable, match=r"^can't listen on 203\.0\.113\.7 port 30000: Cannot assign requested address$"):
        check_free("203.0.113.7", 30000)
