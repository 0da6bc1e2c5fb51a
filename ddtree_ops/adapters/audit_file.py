"""The controller's audit log: JSON lines in the user's state directory, bounded.

Where: $XDG_STATE_HOME/ddtree-ops/audit.jsonl, by default ~/.local/state/ddtree-ops (XDG Base Directory Specification 0.8).
"""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from ddtree_ops.ports import Operator

NAME = "audit.jsonl"
MOST_BYTES = 2 * 1024 * 1024  # then it becomes audit.jsonl.1, and the one before that is forgotten
LONGEST_COMMAND = 300


class AuditFile:
    """Appends to the file; threads of one process and several processes may share it."""

    def __init__(self) -> None:
        self._directory = state_directory()
        self._lock = threading.Lock()

    @cached_property
    def operator(self) -> Operator:
        return Operator(_user(), socket.gethostname(), os.getpid(), shlex.join(sys.argv[1:])[:LONGEST_COMMAND])

    def append(self, record: Mapping[str, Any]) -> None:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"schema": "ddtree-ops/audit/v1", "at": at, **record}).encode() + b"\n"
        # A full disk or a read-only home must not stop a deploy; the host keeps the record, too.
        with suppress(OSError), self._lock:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = self._directory / NAME
            with suppress(FileNotFoundError):
                if path.stat().st_size > MOST_BYTES:
                    path.replace(path.with_name(f"{NAME}.1"))
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)


def state_directory() -> Path:
    """Relative values of the variable are ignored, as the specification says."""
    base = os.environ.get("XDG_STATE_HOME", "")
    home = Path(base) if base.startswith("/") else Path("~/.local/state").expanduser()
    return home / "ddtree-ops"


def _user() -> str:
    """The one who logged in, also behind sudo; a container's user may have no name."""
    if name := os.environ.get("SUDO_USER"):
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
