"""An SSH server of this process that runs programs here, and opens so many sessions on a connection: paramiko's other side."""

from __future__ import annotations

import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import paramiko
from paramiko.common import AUTH_SUCCESSFUL, OPEN_FAILED_CONNECT_FAILED, OPEN_SUCCEEDED

from ddtree_ops.adapters.ssh import SshShell
from ddtree_ops.fleet.inventory import load_fleet


class Connection(paramiko.ServerInterface):
    """One client's. A session counts until its program has ended, as in sshd (session.c)."""

    def __init__(self, most_sessions: int) -> None:
        self._places = threading.Semaphore(most_sessions)
        self._lock = threading.Lock()
        self.refused = self.most = self._running = 0

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        if not self._places.acquire(blocking=False):
            self.refused += 1
            return OPEN_FAILED_CONNECT_FAILED  # sshd's answer (serverloop.c)
        return OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._execute, args=(channel, command), daemon=True).start()
        return True

    def _execute(self, channel: paramiko.Channel, command: bytes) -> None:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        pipe = subprocess.PIPE
        with subprocess.Popen(
            ("/bin/sh", "-c", command), stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, bufsize=0
        ) as program:
            with suppress(OSError, EOFError):
                _pass_on(program, channel)
            if channel.closed:
                program.kill()
        with self._lock:
            self._running -= 1
        self._places.release()
        with suppress(OSError, EOFError):
            channel.send_exit_status(abs(program.returncode))
            channel.close()


def _pass_on(program: subprocess.Popen[bytes], channel: paramiko.Channel) -> None:
    """Both outputs, until they end or the client leaves."""
    assert program.stdout
    assert program.stderr
    senders = {program.stdout: channel.sendall, program.stderr: channel.sendall_stderr}
    while senders and not channel.closed:
        for pipe in select.select(senders, (), (), 0.05)[0]:
            data = pipe.read(65536)
            if data:
                senders[pipe](data)
            else:
                del senders[pipe]


@contextmanager
def served(folder: Path, most_sessions: int) -> Iterator[tuple[SshShell, Connection]]:
    """A shell that is connected to such a server, and the server's side of that connection."""
    host_key = paramiko.ECDSAKey.generate()
    paramiko.ECDSAKey.generate().write_private_key_file(str(folder / "key"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key.get_name()} {host_key.get_base64()}\n")
        (folder / "ssh_config").write_text("")
        arguments = f"-F {folder}/ssh_config -o UserKnownHostsFile={folder}/known_hosts"
        host = {"ansible_host": "127.0.0.1", "ansible_port": port, "ansible_user": "root"}
        host |= {"ansible_ssh_private_key_file": str(folder / "key"), "ansible_ssh_common_args": arguments}
        (folder / "hosts.yml").write_text(f"all: {{hosts: {{a: {host}}}}}\n")
        with SshShell(load_fleet(folder / "hosts.yml").host("a")) as shell:
            connecting = threading.Thread(target=shell.connect_early, daemon=True)
            connecting.start()
            transport = paramiko.Transport(listening.accept()[0])
            transport.add_server_key(host_key)
            connection = Connection(most_sessions)
            transport.start_server(event=threading.Event(), server=connection)
            connecting.join(30)
            try:
                yield shell, connection
            finally:
                transport.close()
