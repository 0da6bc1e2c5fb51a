"""Connections that are opened beside the work before the first question: specs, wheels, the rest of the imports."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ddtree_ops.adapters.ssh import SshShell

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host


def begin(hosts: Iterable[Host]) -> dict[str, SshShell]:
    """Shells by host name that are connecting; what goes wrong is raised to whoever uses one.

    Their threads are daemons: a command that ends before them leaves them behind.
    """
    # Loaded here and not in the threads: there it would take turns with all other imports, and the handshake would start late.
    import fabric  # noqa: F401

    shells = {host.name: SshShell(host) for host in hosts}
    for name, shell in shells.items():
        threading.Thread(target=shell.connect_early, name=f"connect {name}", daemon=True).start()
    return shells
