"""Recognises what OpenSSH's client says when a connection can't be made or breaks, and what sudo says over it.

Sentences of OpenSSH 7 to 10 (ssh.c, sshconnect.c, clientloop.c, packet.c, kex.c, auth2 of the client) and of sudo 1.8/1.9.
What sshd writes into its own log looks alike: it ends with "[preauth]", or sshd is the writer.
"""

from __future__ import annotations

import re
from typing import ClassVar

from ddtree_ops.triage.block import Block, Evidence, Origin
from ddtree_ops.triage.lines import Line, Prefix, evidence

_STARTS = (
    "ssh: connect to host ",
    "ssh: Could not resolve hostname ",
    "kex_exchange_identification: ",
    "ssh_exchange_identification: ",
    "ssh_dispatch_run_fatal: ",
    "client_loop: send disconnect: ",
    "Write failed: Broken pipe",
    "packet_write_wait: ",
    "packet_write_poll: ",
    "mux_client_request_session: ",
    "Connection closed by ",
    "Connection reset by ",
    "Connection timed out during banner exchange",
    "Connection to ",
    "Timeout, server ",
    "Host key verification failed.",
    "Host key for ",
    "@@@@@@@@",
    "Received disconnect from ",
    "Unable to negotiate with ",
    "Permission denied (",
    "Permission denied, please try again.",
    "channel 0: open failed: ",
    "stdio forwarding failed",
    "rsync: connection unexpectedly closed",
    "scp: Connection closed",
    "sudo: ",
    "Load key ",
    "Bad owner or permissions on ",
    "unix_listener: path ",
)
_SOMEBODY = re.compile(
    r"[\w.@:%-]{1,253}@?[\w.:%-]{0,253}: Permission denied \([a-z0-9,-]{1,200}\)\.?$|No [A-Z0-9-]{2,20} host key is known for "
)
_SUDO = re.compile(
    r"sudo: (?:a password is required|a terminal is required|no tty present|sorry, you must have a tty"
    r"|\d incorrect password attempts?|"
    r"\d{1,3} incorrect password attempt|no password was provided|[^:]{0,200}authentication)"
)
# a normal end ("Connection to h closed."), and sshd's own log
_NOT = re.compile(
    r"Connection to \S{1,253} closed\.$|.{0,400}\[preauth\]|.{0,200}(?:authenticating|invalid) user|"
    r"Received disconnect from .{1,200}:11: |Connection to (?!\S{1,253} (?:closed by remote host|port \d{1,5}[ :]|timed out)).*"
)
_BANNER_LIMIT = 24
_LINES_LIMIT = 40


class Ssh:
    """Lines of one connection's failure, next to each other, as one block. Fed by `Ansible` with what isn't Ansible's."""

    literals: ClassVar[tuple[str, ...]] = (
        "ssh: connect to host ",
        "ssh: Could not resolve hostname",
        "exchange_identification: ",
        "ssh_dispatch_run_fatal: ",
        "client_loop: send disconnect",
        "Write failed: Broken pipe",
        "packet_write_",
        "mux_client_request_session: ",
        "Connection closed by ",
        "Connection reset by ",
        "during banner exchange",
        "closed by remote host",
        "Timeout, server ",
        "Host key verification failed",
        "HOST IDENTIFICATION HAS CHANGED",
        "host key is known for",
        "Received disconnect from ",
        "Unable to negotiate with ",
        "Bad owner or permissions on ",
        "unix_listener: path ",
        ": Permission denied (",
        "Permission denied, please try again",
        "stdio forwarding failed",
        "rsync: connection unexpectedly closed",
        "sudo: ",
    )

    def __init__(self) -> None:
        self._pid: int | None = None
        self._comm: str | None = None
        self._lines: list[str] = []
        self._evidence: list[Evidence] = []
        self._banner = 0

    @property
    def busy(self) -> bool:
        """Whether the lines of a banner come."""
        return self._banner > 0

    def feed(self, line: Line, prefix: Prefix) -> list[Block]:
        """Take one line."""
        text = line.text.rstrip()
        ours = not prefix.dated and not line.progress and self._is_ours(text, line)
        if not ours:
            return self.flush() if self._lines and line.entry.pid == self._pid else []
        done = [] if line.entry.pid == self._pid else self.flush()
        self._pid, self._comm = line.entry.pid, line.entry.comm
        if len(self._lines) < _LINES_LIMIT:
            self._lines.append(text[:2000])
            self._evidence.append(evidence(line))
        return done

    def flush(self) -> list[Block]:
        """What was read so far."""
        lines, told, self._lines, self._evidence, self._banner = self._lines, self._evidence, [], [], 0
        if not lines or all(text.startswith(("@@@", "Load key ")) for text in lines):
            return []
        telling = [item for item in told if not item.text.startswith("@@@")]
        first = telling[0]
        block = Block(
            pid=self._pid,
            rank=None,
            comm=self._comm or "ssh",
            header="",
            record=False,
            exceptions=(),
            evidence=tuple(telling[:8]),
            first_us=first.time_us,
            last_us=told[-1].time_us,
            origin=Origin.SSH,
            lines=tuple(lines),
        )
        return [block]

    def _is_ours(self, text: str, line: Line) -> bool:
        if self._banner and line.entry.pid == self._pid:
            self._banner = 0 if text.startswith("Host key verification failed") else self._banner - 1
            return True
        if not (text.startswith(_STARTS) or _SOMEBODY.match(text)) or (line.entry.comm or "").startswith("sshd"):
            return False
        if text.startswith("sudo: "):
            return bool(_SUDO.match(text))
        if _NOT.match(text):
            return bool(self._lines) and text.startswith("Connection to ")
        if "HOST IDENTIFICATION" in text or text.startswith("@@@@@@@@"):
            self._banner = _BANNER_LIMIT
        return True
