"""A real systemd-journal-gatewayd on a lab host: what it gives is what journalctl gives."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ddtree_ops.adapters.gateway import PORT, open_gateway
from ddtree_ops.errors import HostCommandFailed, Unreachable, UsageError
from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.model import Verdict
from tests.hosts.lab import Lab

HOST, UNIT = "ct200", "ddtree-gateway-test.service"
CRASH = r"""
import sys, time
print("[2026-11-29 18:38:30 TP0] Load weight begin.", flush=True)
sys.stdout.write("\r 50%|##   | 1/2 [00:01<00:01,  1.0it/s]\n")
print("[2026-11-29 18:38:31] Receive: text='\n\n__CURSOR=s=1\n_PID=1\nMESSAGE=fake\n\n'", flush=True)
def go():
    raise ValueError("of the gateway's test\nsecond line")
go()
"""


@pytest.fixture(scope="module")
def gateway(lab: Lab) -> str:
    """The gateway of a host whose journal holds a unit that crashed."""
    lab.sh(HOST, "systemctl", "start", "systemd-journal-gatewayd.socket")
    lab.sh(HOST, "tee", "/srv/crash.py", stdin=CRASH)
    lab.ssh(HOST, f"systemd-run --wait --quiet --unit={UNIT} python3 /srv/crash.py; journalctl --sync")
    return f"http://{lab.hosts()[HOST].address}:{PORT}"


def printed(lab: Lab, *options: str) -> bytes:
    """What journalctl prints there, byte by byte."""
    command = ("ssh", "-F", str(lab.ssh_config), HOST, "journalctl", "-o", "export", "--all", *options)
    return subprocess.run(command, capture_output=True, timeout=60, check=True).stdout


def messages(chunks: Iterator[bytes]) -> list[tuple[int | None, str]]:
    entries: Iterator[JournalEntry] = read_log(chunks)
    return [(entry.pid, entry.message) for entry in entries]


def test_a_units_entries_and_the_managers_about_it(lab: Lab, gateway: str) -> None:
    with open_gateway(gateway, unit=UNIT) as chunks:
        found = messages(chunks)
    assert [item for item in found if item[0] is not None] == messages(iter([printed(lab, f"--unit={UNIT}")]))
    assert any(pid == 1 for pid, _ in found)


def test_the_whole_journal(lab: Lab, gateway: str) -> None:
    before = messages(iter([printed(lab)]))
    with open_gateway(gateway) as chunks:
        assert messages(chunks)[: len(before)] == before


def test_triage_finds_the_crash(gateway: str) -> None:
    with open_gateway(gateway, unit=UNIT, since="-1h") as chunks:
        report = triage_bytes(chunks, only_unit=UNIT)
    assert report.verdict is Verdict.FAILURE
    assert report.root is not None
    assert report.root.exceptions[-1].message == "of the gateway's test\nsecond line"
    assert report.unit == UNIT


def test_since_leaves_out_what_is_older(lab: Lab, gateway: str) -> None:
    (entry,) = read_log([printed(lab, f"--unit={UNIT}", "--lines=1")])
    assert entry.realtime_us is not None
    with open_gateway(gateway, unit=UNIT, since=f"@{entry.realtime_us / 1e6:.6f}") as chunks:
        assert (entry.pid, entry.message) in messages(chunks)
    with open_gateway(gateway, unit=UNIT, since=f"@{entry.realtime_us / 1e6 + 1:.6f}") as chunks:
        assert messages(chunks) == []


def test_errors_are_clear(lab: Lab, gateway: str) -> None:
    with pytest.raises(Unreachable, match="no answer"), open_gateway(gateway.replace(str(PORT), "1")):
        pass
    with pytest.raises(HostCommandFailed, match="404"), open_gateway(f"{gateway}/elsewhere"):
        pass
    for url in ("ftp://h", "http://user:secret@h", "http://h:x"):
        with pytest.raises(UsageError) as caught, open_gateway(url):
            pass
        assert "secret" not in str(caught.value)


@contextmanager
def server(answer: bytes) -> Iterator[str]:
    """Answers the first request with these bytes and then says nothing more."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
                over.wait(120)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            thread.join(5)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.fdo.journal\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_silence_is_bounded() -> None:
    """Without a bound the server would end it, with another error, two minutes later."""
    with (
        server(HEAD + b"5\r\n__CUR\r\n") as url,
        open_gateway(url, silence=0.3) as chunks,
        pytest.raises(Unreachable, match="in time"),
    ):
        list(chunks)


def test_something_else_that_answers() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi"
    with server(answer) as url, pytest.raises(HostCommandFailed, match="not a systemd-journal-gatewayd"), open_gateway(url):
        pass
