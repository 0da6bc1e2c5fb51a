"""Sessions over one connection: never more than sshd allows, and none that waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from ddtree_ops.adapters.sessions import AT_ONCE, STREAMS_AT_ONCE
from ddtree_ops.adapters.ssh import SshShell
from ddtree_ops.errors import HostTimedOut
from ddtree_ops.ports import Command
from tests.adapters.ssh_server import served

pytestmark = pytest.mark.processes

OF_SSHD = 10  # sshd_config(5)
FOLLOW = ("sh", "-c", "echo begun; exec sleep 60")
SHORT = Command(("sh", "-c", "sleep 0.05; echo well"), timeout=30)


def followed(shell: SshShell, many: int, stack: ExitStack) -> None:
    for _ in range(many):
        stream = stack.enter_context(shell.stream(FOLLOW))
        assert next(iter(stream.chunks())) == b"begun\n"


def together(many: int, work: Callable[[], object]) -> list[object]:
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(work()), daemon=True) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_two_ports_followed_and_every_collector_at_once(tmp_path: Path) -> None:
    with served(tmp_path, OF_SSHD) as (shell, server), ExitStack() as stack:
        followed(shell, STREAMS_AT_ONCE, stack)
        assert together(20, lambda: shell.run(SHORT).stdout) == ["well\n"] * 20
        assert server.refused == 0
        assert server.most <= AT_ONCE < OF_SSHD


@pytest.mark.parametrize("allowed", [1, 3])
def test_an_sshd_that_allows_fewer_is_asked_again(allowed: int, tmp_path: Path) -> None:
    with served(tmp_path, allowed) as (shell, server):
        assert together(8, lambda: shell.run(SHORT).stdout) == ["well\n"] * 8
        assert server.refused
        assert shell.transport().is_active(), "no lost host"


def test_what_finds_no_place_in_time_says_so(tmp_path: Path) -> None:
    with served(tmp_path, 1) as (shell, _), ExitStack() as stack:
        followed(shell, 1, stack)
        with pytest.raises(HostTimedOut, match="a: sshd opens no session for `true` over this connection") as caught:
            shell.run(Command(("true",), timeout=0.5))
        assert "MaxSessions" in str(caught.value.hint)


def test_one_more_stream_leaves_commands_their_places(tmp_path: Path) -> None:
    with served(tmp_path, OF_SSHD) as (shell, _), ExitStack() as stack:
        followed(shell, STREAMS_AT_ONCE, stack)
        shell._connect_timeout = 0.2
        with pytest.raises(HostTimedOut, match="too many programs are followed"), shell.stream(FOLLOW):
            raise AssertionError("one too many")
        assert shell.run(SHORT).stdout == "well\n"
    with served(tmp_path, OF_SSHD) as (shell, _):
        for _ in range(AT_ONCE + 1):
            with shell.stream(FOLLOW):
                pass  # each place comes back
