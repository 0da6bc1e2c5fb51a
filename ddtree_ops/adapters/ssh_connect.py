"""Opening a connection: ssh_config, strict host keys, jump hosts, and every way it can fail as one clear line."""

from __future__ import annotations

import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddtree_ops.adapters.endings import reason
from ddtree_ops.errors import AuthRejected, DdtreeOpsError, HostKeyRejected, Unreachable

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host

KEEPALIVE_SECONDS = 5
# A silent partition must not look like a quiet server: unacknowledged data for this long ends the connection (tcp(7)).
TCP_USER_TIMEOUT_MS = 20_000
DEFAULT_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts")


def _config(host: Host) -> Any:
    """fabric's settings with the host's ssh_config, or the user's own. Raises Unreachable, which names the file."""
    import fabric
    import paramiko

    file = host.connection.ssh_config_file
    try:
        return fabric.Config(runtime_ssh_path=file)
    except (OSError, UnicodeDecodeError, paramiko.ConfigParseError) as error:
        text = f"{host.name}: ssh_config {file or '~/.ssh/config'} can't be read: {getattr(error, 'strerror', None) or error}"
        raise Unreachable(text, hint="correct -F in ansible_ssh_common_args, or make the file (a lab's: is it up?)") from error


def connect(host: Host, timeout: float) -> Any:
    """An open fabric Connection. Raises Unreachable, HostKeyRejected, AuthRejected."""
    import fabric
    import paramiko

    # paramiko logs each refused channel (a server that still loads) and each lost connection; both reach us as errors.
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)
    wanted = host.connection
    config = _config(host)
    jump = wanted.options.get("proxyjump")
    connection = fabric.Connection(
        wanted.address,
        gateway=fabric.Connection(jump, config=config) if jump else None,
        user=wanted.user,
        port=wanted.port,
        config=config,
        connect_timeout=timeout,
        connect_kwargs={
            "banner_timeout": timeout,
            "auth_timeout": timeout,
            **({"key_filename": wanted.private_key_file} if wanted.private_key_file else {}),
        },
    )
    known_hosts = _known_hosts_files(connection, wanted.options)
    hop: Any = connection
    while isinstance(hop, fabric.Connection):
        _check_host_keys(hop.client, known_hosts)
        hop = hop.gateway
    try:
        connection.open()
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise _explain(host.name, connection, known_hosts, error) from error
    hop = connection
    while isinstance(hop, fabric.Connection):
        _watch(hop.transport)
        hop = hop.gateway
    return connection


def _known_hosts_files(connection: Any, options: dict[str, str]) -> tuple[str, ...]:
    named = options.get("userknownhostsfile") or connection.ssh_config.get("userknownhostsfile")
    files = tuple(named.split()) if named else DEFAULT_KNOWN_HOSTS
    return tuple(str(Path(name).expanduser()) for name in files)


def _check_host_keys(client: Any, files: tuple[str, ...]) -> None:
    import paramiko

    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    for name in files:
        if Path(name).is_file():
            client.load_system_host_keys(name)


def _watch(transport: Any) -> None:
    transport.set_keepalive(KEEPALIVE_SECONDS)
    sock = transport.sock
    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS)


def _explain(name: str, connection: Any, known_hosts: tuple[str, ...], error: Exception) -> DdtreeOpsError:
    import paramiko

    target = f"{connection.user}@{connection.host}:{connection.port}"
    if isinstance(error, paramiko.BadHostKeyException):
        return HostKeyRejected(
            f"{name}: {target} shows another host key than the known one ({_fingerprint(error.key)})",
            hint=f"if the host was reinstalled: ssh-keygen -f {known_hosts[0]} -R {_known_name(connection)}",
        )
    if isinstance(error, paramiko.AuthenticationException):
        return AuthRejected(
            f"{name}: {target} refused our login: {error}",
            hint="check ansible_user, ansible_ssh_private_key_file, or ssh-add the key",
        )
    if "not found in known_hosts" in str(error):
        return HostKeyRejected(
            f"{name}: the host key of {target} is not known (looked in {', '.join(known_hosts)})",
            hint=f"compare its fingerprint with the host's console, then add it to {known_hosts[0]} (ssh-keyscan)",
        )
    if isinstance(error, socket.gaierror):
        return Unreachable(f"{name}: the name {connection.host} can't be resolved", hint="set ansible_host")
    return Unreachable(f"{name}: no connection to {target}: {_reason(error)}", hint="is the host up, sshd running?")


def _reason(error: Exception) -> str:
    errors = getattr(error, "errors", None)  # NoValidConnectionsError: one reason per address
    if errors:
        return "; ".join(sorted({str(one.strerror or one) for one in errors.values()}))
    return reason(error)


def _known_name(connection: Any) -> str:
    return str(connection.host) if connection.port == 22 else f"[{connection.host}]:{connection.port}"


def _fingerprint(key: Any) -> str:
    import base64
    import hashlib

    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"
