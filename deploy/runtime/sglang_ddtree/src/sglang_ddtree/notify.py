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
        """STATUS=: one line for `systemctl status`. The same text again is not sent; if systemd is busy it is dropped."""
        line = one_line(text)
        if line != self._status and self._send(f"STATUS={line}", wait_s=0.1):
            self._status = line

    def ready(self, status: str) -> bool:
        """READY=1, with the status in the same datagram. False if systemd didn't take it: then it must be said again."""
        line = one_line(status)
        sent = self._send(f"READY=1\nSTATUS={line}", wait_s=1.0)
        if sent:
            self._status = line
        return sent

    def stopping(self, status: str) -> None:
        """STOPPING=1, with the status in the same datagram."""
        self._status = one_line(status)
        self._send(f"STOPPING=1\nSTATUS={self._status}")

    def extend_timeout(self, seconds: float) -> None:
        """EXTEND_TIMEOUT_USEC=: systemd waits `seconds` more from now, even beyond TimeoutStartSec=."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    def _send(self, text: str, wait_s: float = 5.0) -> bool:
        """True if sent. systemd may be busy, re-executing itself, or gone: the server must not die or wait long for it."""
        if not self._address:
            return True
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.settimeout(wait_s)
            try:
                channel.sendto(text.encode(), self._address)
            except OSError:
                return False
        return True


def one_line(text: str) -> str:
    """The text without control characters, shortened: log text goes to terminals by way of STATUS=."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_LONGEST_STATUS]
