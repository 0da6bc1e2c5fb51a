"""Module ddtree_running: what is told of a unit that doesn't run with what lies there, by the real programs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.processes

ROLE = Path(__file__).resolve().parents[2] / "roles" / "monitoring"
GOOD = {
    "prometheus": "global: {}\n",
    "prometheus-alertmanager": "route: {receiver: a}\nreceivers: [{name: a}]\n",
    "prometheus-blackbox-exporter": "modules: {a: {prober: http}}\n",
}
MORE = {"prometheus": "--storage.tsdb.path", "prometheus-alertmanager": "--storage.path"}
ANSWER_SECONDS = 60.0  # beyond it, it hangs


def module() -> Any:
    spec = importlib.util.spec_from_file_location("ddtree_running", ROLE / "library" / "ddtree_running.py")
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


RUNNING = module()


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
