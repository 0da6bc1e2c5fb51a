"""An SSH connection that couldn't be made, that sshd didn't answer, or that broke."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature
from ddtree_ops.triage.signatures.ssh_words import raised, said

_BANNER = re.compile(
    r"Connection timed out during banner exchange|(?:kex|ssh)_exchange_identification: |Error reading SSH protocol banner"
    r"|banner exchange: Connection (?:from|to) .{1,200}: (?:invalid|could not read)"
)
_PLACE = r"(?:connect to host (?P<host>\S{1,253}) port (?P<port>\d{1,5}): )"
_UNREACHABLE = re.compile(
    _PLACE + r"(?P<why>[A-Z][a-z A-Z]{3,60})"
    r"|Could not resolve hostname (?P<name>\S{1,253}?):? "
    r"|open failed: (?:connect failed|administratively prohibited)|stdio forwarding failed"
)
_BROKEN = re.compile(
    r"Broken pipe|closed by remote host|Connection reset by|Connection to .{1,253} (?:timed out|reset)"
    r"|Timeout, server .{1,253} not responding"
    r"|lost connection|connection unexpectedly closed|Connection closed by|scp: Connection closed"
    r"|message authentication code incorrect"
    r"|Shared connection to \S{1,253} closed|send disconnect: |Write failed: "
)
_PARAMIKO_BROKEN = re.compile(
    r"SSH session not active|Server connection dropped|Socket is closed|Channel closed|Broken pipe"
    r"|Connection reset by peer|Timeout opening channel"
    r"|EOF during negotiation|Connection lost"
)
_REFUSED_BY = re.compile(
    r"NoValidConnectionsError|Unable to connect to port|gaierror|Name or service not known|Connection refused|No route to host"
)

_UNREACHABLE_FIX = {
    "Connection refused": "The machine answers but sshd doesn't listen there: look at the port, and at sshd on its console.",
    "No route to host": "The machine is off, or the network doesn't lead there: look at its console or its BMC.",
}


def match(context: Context) -> Finding | None:
    """OpenSSH's words first, then paramiko's exceptions."""
    found = said(context, _UNREACHABLE)
    if found:
        return unreachable(found["why"], found["host"] or found["name"], found["port"])
    if said(context, _BANNER):
        return _banner()
    if said(context, _BROKEN):
        return _broken()
    error = raised(context)
    if error is None:
        return None
    text = f"{error.type}: {error.message}"
    if _BANNER.search(text):
        return _banner()
    if _PARAMIKO_BROKEN.search(text) or error.type in ("EOFError", "BrokenPipeError", "ConnectionResetError"):
        return _broken()
    if _REFUSED_BY.search(text) or error.type in ("TimeoutError", "socket.timeout", "ConnectionRefusedError"):
        return unreachable(None, None, None)
    return None


def _banner() -> Finding:
    return Finding(
        Kind.SSH_BANNER_TIMEOUT,
        "The host took the connection, but sshd said nothing",
        "Something accepted the connection on the SSH port and didn't send sshd's greeting, or closed it before: the host is"
        " overloaded or hangs, sshd has too many unauthenticated connections (MaxStartups), or the port belongs to"
        " something else.",
        (
            "Look at the host's load on its console; a host out of memory or with a dead disk behaves so.",
            "Fewer connections at once (forks, ControlMaster), or a higher MaxStartups in sshd_config.",
        ),
        Confidence.LIKELY,
    )


def unreachable(why: str | None, host: str | None, port: str | None) -> Finding:
    """The finding, with as much as is known of the place and the reason."""
    where = f"{host}{f' port {port}' if port else ''}" if host else "The host"
    reason = f" ({why})" if why else ""
    unresolved = host is not None and why is None and port is None
    return Finding(
        Kind.SSH_UNREACHABLE,
        "The host can't be reached over SSH",
        f"{where} did not answer over SSH{reason}.",
        (
            _UNREACHABLE_FIX.get(
                why or "", "Look at name, address and port, at the network between, and whether the machine is on."
            ),
            *(("If it is a name: getent hosts NAME.",) if unresolved else ()),
        ),
        Confidence.CERTAIN if why or host else Confidence.LIKELY,
    )


def _broken() -> Finding:
    return Finding(
        Kind.SSH_BROKEN_PIPE,
        "The SSH connection broke",
        "The connection was up and then ended without the other side closing it in order: the host went down or rebooted, sshd's"
        " session was killed, or the network dropped a quiet connection.",
        (
            "Look whether the host rebooted (uptime, journalctl --list-boots); run it again, steps that were done are"
            " left as they are.",
            "For quiet connections: ServerAliveInterval 15 in ssh_config.",
        ),
        Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
