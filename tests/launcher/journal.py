"""A journal for one process tree: takes its output as journald does and keeps it in journalctl's export format."""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from pathlib import Path

# A stand-in for journalctl: everything so far, and whatever comes; `--after-cursor` and the match are not needed here.
JOURNALCTL = """#!/bin/sh
[ -r "$JOURNAL" ] || { echo 'No journal files were opened' >&2; exit 1; }
exec tail -c +1 -s 0.05 -f "$JOURNAL"
"""
_CREDENTIALS = struct.Struct("3i")


class Journal:
    """A stream socket for a process's stdout; the kernel tells which process of the tree wrote what (SO_PASSCRED)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[tuple[int, str]] = []
        self._news = threading.Condition()
        self._ours, self.socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        for end in (self._ours, self.socket):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._file = path.open("wb", buffering=0)
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def wait_for(self, text: str, timeout_s: float) -> None:
        """Until a line holds `text`."""
        with self._news:
            found = self._news.wait_for(lambda: any(text in line for _, line in self.lines), timeout_s)
        assert found, f"no {text} in the journal"

    def close(self) -> None:
        """Take what is left; the tree must have ended."""
        self.socket.close()
        self._thread.join(timeout=60)
        self._ours.close()
        self._file.close()

    def _pump(self) -> None:
        pending: dict[int, bytes] = {}
        while True:
            data, ancillary, _, _ = self._ours.recvmsg(65536, socket.CMSG_SPACE(_CREDENTIALS.size))
            if not data:
                return
            pid = next((_CREDENTIALS.unpack(raw[: _CREDENTIALS.size])[0] for _, _, raw in ancillary), 0)
            *whole, pending[pid] = (pending.get(pid, b"") + data).split(b"\n")
            for line in whole:
                self._write(pid, line)

    def _write(self, pid: int, line: bytes) -> None:
        with self._news:
            self.lines.append((pid, line.decode("utf-8", "replace")))
            self._news.notify_all()
        stamp = int(time.monotonic() * 1e6)
        cursor = f"__CURSOR=s=1;i={len(self.lines):x}\n__MONOTONIC_TIMESTAMP={stamp}\n_PID={pid}\n".encode()
        message = b"MESSAGE\n" + struct.pack("<Q", len(line)) + line if b"\r" in line else b"MESSAGE=" + line
        os.write(self._file.fileno(), cursor + message + b"\n\n")
