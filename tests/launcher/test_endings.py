"""How the launcher ends: one story per exit code, told by real processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sglang_ddtree.exit_codes import ExitCode
from sglang_ddtree.processes import tree_of
from tests.launcher.host import Launched, launch

pytestmark = pytest.mark.processes

SHAPE = "RuntimeError: The size of tensor a (8) must match the size of tensor b (33) at non-singleton dimension 0"


# Name -> (story, changes of server.json). All run side by side: they mostly wait.
NOPE = ["--model-path", "/m", "--speculative-algorithm=NOPE"]
STORIES: dict[str, tuple[str, dict[str, Any]]] = {
    "stopped": ("ready", {}),
    "secret": ("ready", {}),
    "crash": ("crash", {}),
    "vanish": ("vanish", {}),
    "late crash": ("ready", {}),
    "bad algorithm": ("ready", {"argv": NOPE}),
    "bad word": ("ready", {"argv": ["--model-path", "/m", "--nonsense"]}),
    "stall": ("stall", {"stall_after_s": 1.5}),
    "slow": ("slow", {"stall_after_s": 1.5, "load_budget_s": 3.5}),
    "stubborn": ("stubborn", {"drain_s": 0.3}),
    "stopped early": ("stall", {}),
    "abort": ("abort", {}),
    "garbage": ("garbage", {}),
    "busy manager": ("ready", {"busy": True}),
    "no journal": ("ready", {"journal": False}),
    "orphans": ("ready", {}),
}


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Launched]]:
    base = tmp_path_factory.mktemp("hosts")
    launched = {}
    for name, (story, changes) in STORIES.items():
        directory = base / name.replace(" ", "-")
        directory.mkdir()
        launched[name] = launch(directory, story, **changes)
    yield launched
    for one in launched.values():
        one.close()


def server_of(launched: Launched) -> int:
    below = tree_of(launched.process.pid)
    return next(pid for pid, state in below.items() if state.group == pid != launched.process.pid)


def test_ready_then_stopped(started: dict[str, Launched]) -> None:
    launched = started["stopped"]
    told = launched.wait_for("READY=1")
    assert "STATUS=graph_capture" in told
    assert "EXTEND_TIMEOUT_USEC=" in told
    server = server_of(launched)
    ranks = {pid for pid, text in launched.journal.lines if " TP0]" in text or " TP1]" in text}
    assert len(ranks) == 2
    launched.process.send_signal(signal.SIGTERM)
    assert launched.end() == ExitCode.STOPPED
    launched.wait_for("STOPPING=1\nSTATUS=draining")
    assert not tree_of(server)
    (boot,) = launched.boots()
    assert boot["outcome"] == "ready"
    assert [name for name, _ in boot["segments"]][:3] == ["arguments", "distributed_init", "weights"]
    assert sum(seconds for _, seconds in boot["segments"]) == pytest.approx(boot["seconds"], abs=0.05)


def test_secrets_are_in_no_command_line_and_in_no_log(started: dict[str, Launched]) -> None:
    launched = started["secret"]
    launched.wait_for("READY=1")  # the probe got through, so the key is in use
    for pid in tree_of(launched.process.pid):
        assert b"k3y" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    assert "api_key='[redacted]'" in launched.log() or 'api_key="[redacted]"' in launched.log()
    assert "k3y" not in launched.log()


def test_a_crash_ends_before_the_server_does_and_says_why(started: dict[str, Launched]) -> None:
    launched = started["crash"]
    assert launched.end() == ExitCode.CRASHED
    assert launched.boots()[0]["seconds"] < 60  # the server itself would take 65 s more
    launched.wait_for(f"STATUS=crashed: {SHAPE}")
    assert launched.boots()[0]["outcome"] == "crashed"
    assert SHAPE in launched.log()


def test_a_server_that_vanishes_has_crashed(started: dict[str, Launched]) -> None:
    launched = started["vanish"]
    assert launched.end() == ExitCode.CRASHED
    launched.wait_for("crashed: server was killed by SIGKILL")


def test_a_crash_after_ready(started: dict[str, Launched]) -> None:
    launched = started["late crash"]
    launched.wait_for("READY=1")
    os.kill(server_of(launched), signal.SIGKILL)
    assert launched.end() == ExitCode.CRASHED
    assert [boot["outcome"] for boot in launched.boots()] == ["ready"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bad algorithm", "ValueError: Unknown speculative algorithm name: NOPE"),
        ("bad word", "unrecognized arguments: --nonsense"),
    ],
)
def test_refused_arguments_are_not_retried(started: dict[str, Launched], name: str, reason: str) -> None:
    launched = started[name]
    assert launched.end() == ExitCode.REFUSED
    launched.wait_for(reason)
    assert launched.boots()[0]["outcome"] == "refused"


def test_nothing_moves(started: dict[str, Launched]) -> None:
    launched = started["stall"]
    assert launched.end() == ExitCode.STALLED
    assert "s in weights (last: " in launched.wait_for("STATUS=stalled: nothing moved for ")
    assert launched.boots()[0]["outcome"] == "stalled"


def test_a_busy_load_has_a_budget(started: dict[str, Launched]) -> None:
    launched = started["slow"]
    assert launched.end() == ExitCode.STALLED
    launched.wait_for("STATUS=stalled: not ready after 4 s, still in ")


def test_a_server_that_ignores_sigterm_is_killed_after_the_drain(started: dict[str, Launched]) -> None:
    launched = started["stubborn"]
    launched.wait_for("READY=1")
    server = server_of(launched)
    launched.process.send_signal(signal.SIGTERM)
    assert launched.end() == ExitCode.STOPPED
    assert not tree_of(server)


def test_stopped_while_loading(started: dict[str, Launched]) -> None:
    launched = started["stopped early"]
    launched.wait_for("STATUS=weights")
    launched.process.send_signal(signal.SIGTERM)
    assert launched.end() == ExitCode.STOPPED
    assert launched.boots()[0]["outcome"] == "stopped"


def test_an_aborted_generation_is_not_ready(started: dict[str, Launched]) -> None:
    launched = started["abort"]
    launched.wait_for("READY=1")
    assert launched.log().count('"POST /generate') == 3
    assert "not ready: /generate: the request was aborted: out of memory" in launched.log()


def test_a_server_that_answers_with_garbage_is_never_ready(started: dict[str, Launched]) -> None:
    launched = started["garbage"]
    assert launched.end() == ExitCode.CRASHED
    assert "READY=1" not in launched.wait_for("STATUS=crashed: /generate: garbage: only '!' over and over")
    assert launched.log().count('"POST /generate') == 3
    assert launched.boots()[0]["outcome"] == "crashed"


def test_ready_is_said_until_systemd_has_taken_it(started: dict[str, Launched]) -> None:
    launched = started["busy manager"]
    launched.journal.wait_for("systemd is busy; READY=1 will be sent again", 60.0)
    assert "READY=1" not in launched.manager.told()
    launched.manager.read_on()
    launched.wait_for("READY=1\nSTATUS=ready")
    assert launched.log().count("ready after") == 1
    assert [boot["outcome"] for boot in launched.boots()] == ["ready"]


def test_ready_without_a_readable_journal(started: dict[str, Launched]) -> None:
    launched = started["no journal"]
    assert "STATUS=unknown" in launched.wait_for("READY=1")


def test_nobody_outlives_a_killed_launcher(started: dict[str, Launched]) -> None:
    launched = started["orphans"]
    launched.wait_for("READY=1")
    server = server_of(launched)
    launched.process.kill()
    launched.end()
    deadline = time.monotonic() + 60
    while server in tree_of(server) and time.monotonic() < deadline:
        os.sched_yield()
    assert server not in tree_of(server)
