"""Talking to systemd: the sd_notify protocol (sd_notify(3)), datagrams on the socket named by $NOTIFY_SOCKET."""

from __future__ import annotations

import os
import socket

_LONGEST_STATUS = 300


class Notifier:
    """Sends to one socket. Without a socket (a start by hand) every message goes nowhere."""

    def __init__(self, address: str | None) -> None:
        self._address = "\0" + address[1:] if address and address.startswith("@") else address
        self._status = ""

    @classmethod
    def from_environment(cls) -> Notifier:
        """The notifier for $NOTIFY_SOCKET."""
        return cls(os.environ.get("NOTIFY_SOCKET"))

    def status(self, text: str) -> None:
        """STATUS=: one line for `systemctl status`. The same text again is not sent."""
        line = one_line(text)
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def ready(self, status: str) -> None:
        """READY=1, with the status in the same datagram."""
        self._status = one_line(status)
        self._send(f"READY=1\nSTATUS={self._status}")

    def stopping(self, status: str) -> None:
        """STOPPING=1, with the status in the same datagram."""
        self._status = one_line(status)
        self._send(f"STOPPING=1\nSTATUS={self._status}")

    def extend_timeout(self, seconds: float) -> None:
        """EXTEND_TIMEOUT_USEC=: systemd waits `seconds` more from now, even beyond TimeoutStartSec=."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, text: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.settimeout(5)
            try:
                channel.sendto(text.encode(), self._address)
            except OSError:
                return  # systemd is being re-executed, or gone: the server must not die of it


def one_line(text: str) -> str:
    """The text without control characters, shortened: log text goes to terminals by way of STATUS=."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_LONGEST_STATUS]
