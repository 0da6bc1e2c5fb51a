"""A host's exporter whose page can't be read from here: what its unit says, and what the same program prints by itself."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from ddtree_ops.ports import Command, Shell
from ddtree_ops.units.systemctl import Active

UNIT = "ddtree-exporter.service"  # of role `monitoring`, as all of this file
# Collectors that there are only with --state; a second process beside the service has no business in its directory.
WITH_STATE = frozenset({"journal", "kernel"})
_SHOW = Command(("systemctl", "show", "--property=LoadState,ActiveState,ExecStart", UNIT), most_bytes=1 << 20)
_PROGRAM = "/opt/ddtree/exporter/venv/bin/ddtree-ops"
# In a directory that its user may enter: root's home, in which a login begins, is none.
_ONCE = ("runuser", "-u", "ddtree-exporter", "--", "env", "--chdir=/", _PROGRAM, "exporter", "--once")
_ARGV = re.compile(r"argv\[\]=(.*?) ;")  # in ExecStart as `systemctl show` prints it
_LISTEN = re.compile(r" --listen (\S+):(\d{1,5})(?= |$)")


@dataclass(frozen=True, slots=True)
class ExporterUnit:
    """`address` and `port` are of --listen, None where it has none; `guarded`: it asks for TLS or a password (--web-config)."""

    exists: bool
    active: Active
    address: str | None
    port: int | None
    guarded: bool

    @property
    def on_loopback(self) -> bool:
        """Whether it can be asked at the host's own 127.0.0.1."""
        try:
            address = ipaddress.ip_address((self.address or "localhost").strip("[]"))
        except ValueError:
            return True  # a name: whether it answers shows it
        return address.is_unspecified or address.is_loopback


def exporter_unit(shell: Shell) -> ExporterUnit:
    """What systemd says of it. Raises Unreachable, HostCommandFailed."""
    shown = dict(line.partition("=")[::2] for line in shell.run(_SHOW).stdout.splitlines())
    found = _ARGV.search(shown.get("ExecStart", ""))
    arguments = found[1] if found else ""
    listen = _LISTEN.search(arguments)
    return ExporterUnit(
        exists=shown.get("LoadState") == "loaded",
        active=Active(shown.get("ActiveState", "")),
        address=listen[1] if listen else None,
        port=int(listen[2]) if listen else None,
        guarded=" --web-config " in arguments,
    )


def printed_once(shell: Shell, seconds: float, most_bytes: int) -> bytes:
    """What the installed exporter knows by itself, without its counts. Raises Unreachable, HostTimedOut, HostCommandFailed."""
    return shell.run(Command(_ONCE, timeout=seconds, most_bytes=most_bytes)).stdout.encode()
