"""Module ddtree_running: what is told of a unit that doesn't run with what lies there, by the real programs."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.roles.monitoring import ROLE, load

pytestmark = pytest.mark.processes

GOOD = {
    "prometheus": "global: {}\n",
    "prometheus-alertmanager": "route: {receiver: a}\nreceivers: [{name: a}]\n",
    "prometheus-blackbox-exporter": "modules: {a: {prober: http}}\n",
}
MORE = {"prometheus": "--storage.tsdb.path", "prometheus-alertmanager": "--storage.path"}
ANSWER_SECONDS = 60.0  # beyond it, it hangs


RUNNING = load("library/ddtree_running.py")


class Service:
    """One of the programs with a configuration, and what the role asks of it."""

    def __init__(self, name: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self.config = folder / "config.yml"
        self.config.write_text(GOOD[name])
        asked = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())["monitoring_running"][name]
        self.unit = RUNNING.Unit(name, address, asked["path"], str(self.config), asked["metrics"])
        argv = [name, f"--config.file={self.config}", f"--web.listen-address={address}"]
        argv += [f"{MORE[name]}={folder}/data"] if name in MORE else []
        argv += ["--cluster.listen-address="] if name == "prometheus-alertmanager" else []
        self.process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def becomes(self, problem: str) -> str:
        end = time.monotonic() + ANSWER_SECONDS
        while True:
            told = self.unit.unanswered()
            if problem in told if problem else not told:
                return str(told)
            assert time.monotonic() < end, told
            time.sleep(0.1)


@pytest.fixture(params=GOOD)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} isn't here")
    service = Service(request.param, tmp_path)
    try:
        yield service
    finally:
        service.process.kill()
        service.process.wait()


def test_a_reload_that_failed_or_never_came_is_seen(service: Service) -> None:
    service.becomes("")
    service.config.write_text(GOOD[service.unit.name] + "# more\n")
    later = time.time() + 0.05
    os.utime(service.config, (later, later))
    time.sleep(0.1)
    assert service.unit.unanswered() == f"has not loaded {service.config} since it was written"
    service.process.send_signal(signal.SIGHUP)
    service.becomes("")
    service.config.write_text("nonsense: [")
    service.process.send_signal(signal.SIGHUP)
    service.becomes("refuses its configuration, and runs with what it loaded before")


def test_one_that_is_gone_is_told(service: Service) -> None:
    service.becomes("")
    service.process.kill()
    service.process.wait()
    service.becomes(f"doesn't answer at {service.unit.at}: ")


def test_a_file_from_the_future_is_not_waited_for(service: Service) -> None:
    """A clock that was set back."""
    service.becomes("")
    os.utime(service.config, (time.time() + 3600,) * 2)
    assert service.unit.unanswered() == ""


@pytest.mark.parametrize(
    ("state", "ran", "problem"),
    [
        ("active", 3600.0, ""),
        ("active", 0.5, "has run for 0.5 s only, active (running), result success, 7 restarts"),
        ("active", 3.5, "has run for 3.5 s only, active (running), result success, 7 restarts"),  # dies every 4 s
        ("activating", 0.0, "is activating (auto-restart), result exit-code, 7 restarts"),
        ("failed", 0.0, "is failed (failed), result start-limit-hit, 7 restarts"),
    ],
)
def test_a_run_has_to_last(state: str, ran: float, problem: str) -> None:
    more = {
        "active": ("running", "success"),
        "activating": ("auto-restart", "exit-code"),
        "failed": ("failed", "start-limit-hit"),
    }
    begun = str(int((1000 - ran) * 1e6))
    shown = {"ActiveState": state, "SubState": more[state][0], "Result": more[state][1], "NRestarts": "7"}
    assert RUNNING.unsteady(shown | {"ActiveEnterTimestampMonotonic": begun}, 1000.0) == problem


def test_a_unit_that_systemd_says_nothing_of() -> None:
    assert RUNNING.unsteady({}, 1000.0) == "is ? (?), result ?, ? restarts"


def test_one_that_never_died_is_believed_sooner() -> None:
    shown = {"ActiveState": "active", "NRestarts": "0", "ActiveEnterTimestampMonotonic": str(990 * 10**6)}
    assert RUNNING.unsteady(shown, 1000.0) == ""
    assert RUNNING.unsteady(shown | {"NRestarts": "1"}, 1000.0).startswith("has run for 10.0 s only")


@pytest.mark.parametrize("change", [{"NRestarts": "1"}, {"InvocationID": "b"}, {"ActiveState": "activating"}])
def test_it_is_the_same_run_after_as_before(change: dict[str, str]) -> None:
    shown = {"ActiveState": "active", "NRestarts": "0", "InvocationID": "a"}
    assert RUNNING.other_run(shown, shown) == ""
    assert RUNNING.other_run(shown, shown | change).startswith("was started again or ended while it was looked at")


SUCCESSFUL, STAMP = "prometheus_config_last_reload_successful", "prometheus_config_last_reload_success_timestamp_seconds"


@pytest.mark.parametrize(
    ("status", "said", "problem"),
    [
        (200, f"{SUCCESSFUL} 1\n{STAMP} 1e12\n", ""),
        (200, f'{SUCCESSFUL}{{tenant="a b"}} 1\n{STAMP} 1e12\n', ""),
        (200, f"{SUCCESSFUL} 0\n{STAMP} 1e12\n", "refuses its configuration, and runs with what it loaded before (FILE)"),
        (200, "", f"doesn't say whether it loaded FILE: /metrics has no {SUCCESSFUL}"),
        (200, f"{SUCCESSFUL} 1\n", f"doesn't say whether it loaded FILE: /metrics has no {STAMP}"),
        (200, f"{SUCCESSFUL} abc\n", f"doesn't say whether it loaded FILE: /metrics has {SUCCESSFUL} 'abc', which is no number"),
        (401, "", "doesn't say whether it loaded FILE: /metrics answers 401"),
        (500, "", "isn't ready, /metrics answers 500"),
    ],
)
def test_metrics_that_say_nothing_are_told_as_such(status: int, said: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "config.yml"
    file.write_text("")
    answer = f"HTTP/1.1 {status} Any\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode()
    with answering([answer]) as address:
        unit = RUNNING.Unit("prometheus", address, "/metrics", str(file), "prometheus_config")
        assert unit.unanswered().replace(str(file), "FILE") == problem


def test_an_answer_that_trickles_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes soon enough for a timeout of the socket alone, which never ends it."""
    monkeypatch.setattr(RUNNING, "ANSWER_SECONDS", 0.5)
    with answering([b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 10_000], pause=0.05) as address:
        assert RUNNING.Unit("a", address, "/", "", "").unanswered() == f"doesn't answer at {address}: timed out"


def test_what_is_no_http_is_told() -> None:
    with answering([b"SSH-2.0-OpenSSH_9.2\r\n"]) as address:
        assert RUNNING.Unit("a", address, "/", "", "").unanswered() == f"doesn't answer at {address}: / answers no HTTP"


@contextlib.contextmanager
def answering(parts: list[bytes], pause: float = 0.0) -> Iterator[str]:
    """A server that says these parts to whoever asks; where it is."""
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.recv(1 << 16)
                for part in parts:
                    connection.sendall(part)
                    if pause and over.wait(pause):
                        return

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        over.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()
