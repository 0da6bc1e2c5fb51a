"""Connections that begin early: their errors come to whoever uses the shell, once; and nothing is left open."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from ddtree_ops.adapters import early
from ddtree_ops.adapters.ssh import SshShell
from ddtree_ops.errors import HostCommandFailed, Unreachable
from ddtree_ops.fleet.inventory import Host, load_fleet
from ddtree_ops.ports import Command
from tests.adapters.ssh_server import served


def host(tmp_path: Path, port: int) -> Host:
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(f"all: {{hosts: {{here: {{ansible_host: 127.0.0.1, ansible_port: {port}, ansible_user: nobody}}}}}}\n")
    return load_fleet(inventory).host("here")


def test_an_error_is_raised_to_the_first_user(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    shell = early.begin([host(tmp_path, port)])["here"]
    with pytest.raises(Unreachable, match=r"no connection to nobody@127\.0\.0\.1"):
        shell.run(Command(("true",)))


def test_who_asks_meanwhile_waits_for_the_connection_that_is_under_way(tmp_path: Path) -> None:
    """A server that never speaks: one attempt is made, not two."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5)
        shell = SshShell(host(tmp_path, server.getsockname()[1]), connect_timeout=0.3)
        shell.connect_early()
        server.accept()[0].close()
        with pytest.raises(Unreachable):
            shell.transport()
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_closed_shell_begins_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        shell = SshShell(host(tmp_path, server.getsockname()[1]))
        shell.close()
        shell.connect_early()
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.processes
def test_the_command_says_how_much_it_may_print(tmp_path: Path) -> None:
    with served(tmp_path, 1) as (shell, _), pytest.raises(HostCommandFailed, match="`yes` prints more than 1 MiB"):
        shell.run(Command(("yes",), most_bytes=1 << 20))
