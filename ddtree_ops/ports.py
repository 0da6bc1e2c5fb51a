"""The narrow seams to the world: protocols (Shell, Playbooks, Http, AuditLog, Clock) and the plain data that crosses them.

Everything above builds data and reads data; only `adapters` implement these protocols. A test needs nothing more than
a small class with the same methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


@dataclass(frozen=True)
class Command:
    """A program to run on a host: an argv tuple that is quoted once, in the adapter.

    `ok` are the exit codes that are answers; any other one raises HostCommandFailed. `timeout` is in seconds. More output
    than `most_bytes`, of a host that is damaged, or lies, raises HostCommandFailed; what is longer is streamed.
    """

    argv: tuple[str, ...]
    ok: frozenset[int] = frozenset({0})
    timeout: float = 30.0
    most_bytes: int = 256 << 20


@dataclass(frozen=True)
class Completed:
    """What a command left: its exit code and output, decoded as UTF-8 with replacement characters."""

    command: Command
    exit_code: int
    stdout: str
    stderr: str
    seconds: float


class Stream(Protocol):
    """The output of a long-running command. Leaving the context ends the command."""

    def chunks(self) -> Iterator[bytes]:
        """Yield bytes as they come; ends when the command ended; raises Unreachable when the connection is lost."""
        ...

    def send(self, data: bytes) -> None:
        """Write to the command's standard input. Raises Unreachable when the connection or the command is gone."""
        ...

    def close(self) -> None:
        """End the command; a chunks() that is waiting in another thread returns."""
        ...


class Shell(Protocol):
    """One host's command line: reads, follows and unit verbs. Files and packages are Ansible's."""

    @property
    def host(self) -> str: ...

    def run(self, command: Command) -> Completed:
        """Run to the end. Raises Unreachable, HostCommandFailed."""
        ...

    def stream(self, argv: tuple[str, ...]) -> AbstractContextManager[Stream]:
        """Run and hand over the output while it comes. Raises Unreachable."""
        ...


@dataclass(frozen=True)
class HttpRequest:
    """A request to a port on the host's own loopback address; `timeout` in seconds bounds all of it, to the end of the answer.

    An answer of more than `most_bytes`, its head included, is none: status 0 with a `problem`.
    """

    port: int
    path: str
    method: str = "GET"
    body: Mapping[str, Any] | None = None
    timeout: float = 25.0
    bearer: str | None = field(default=None, repr=False)
    most_bytes: int = 16 << 20


@dataclass(frozen=True)
class HttpResponse:
    """Status and body; status 0 means that nothing listens on the port, or `problem`: why its answer can't be taken.

    `content_type` is the answer's own text for it, as it came.
    """

    status: int
    body: bytes
    seconds: float
    problem: str | None = None
    content_type: str | None = None


class Http(Protocol):
    """HTTP to a port of the host, through the connection that we already have, so that nothing needs to be exposed."""

    def request(self, request: HttpRequest) -> HttpResponse:
        """Raises Unreachable when the host itself is lost, TimeoutError when the answer doesn't come in time."""
        ...


class TaskState(StrEnum):
    """How an Ansible task ended on a host."""

    STARTED = "started"
    OK = "ok"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class TaskResult:
    """One Ansible task on one host; `message` is filled for failures, `seconds` for finished tasks."""

    host: str
    role: str | None
    task: str
    state: TaskState
    message: str = ""
    seconds: float = 0.0


class Playbooks(Protocol):
    """Ansible: writes files, packages and units."""

    def run(self, playbook: str, host: str, variables: Mapping[str, Any], on_task: Callable[[TaskResult], None]) -> None:
        """Run one playbook against one host. Raises Unreachable, PlaybookFailed."""
        ...


@dataclass(frozen=True)
class Operator:
    """Who runs a command: for the host's lock and the audit log. `pid` is that of the command on the controller."""

    user: str
    controller: str
    pid: int
    command: str


class AuditLog(Protocol):
    """The controller's own record of every attempt to change a host."""

    @property
    def operator(self) -> Operator: ...

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a line. Never raises: an attempt must not fail over its record."""
        ...


class Clock(Protocol):
    """Time for deadlines and durations, in seconds; it never jumps."""

    def monotonic(self) -> float: ...
