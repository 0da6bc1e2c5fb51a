"""The host's lock program behind a stream: what it answers, and what a test does to it meanwhile."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.errors import HostCommandFailed, Unreachable

HOLDER = {"user": "anna", "controller": "laptop", "pid": 4711, "command": "deploy --host ct200", "since": "2026-11-30T01:02:03Z"}


@dataclass
class LockModel:
    """One host's lock. `holder`: somebody else has it, or had it since we did.

    `told` are the audit records that the program was given.
    """

    holder: dict[str, Any] | None = None
    held: bool = True  # by them, still
    recording: bool = True  # the disk has room
    stuck: bool = False  # nothing ends their program
    asked: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    open: ModelLockStream | None = None

    def stream(self, argument: str) -> ModelLockStream:
        wanted = json.loads(argument)
        self.asked.append(wanted)
        free = self.holder is None or (wanted["break"] and not self.stuck)
        self.open = ModelLockStream(
            self, {"locked": True} if free else {"locked": False, "holder": self.holder, "held": self.held}
        )
        return self.open

    def end(self) -> None:
        """Somebody ends the program."""
        assert self.open is not None
        self.open.break_off(HostCommandFailed("ct200: `python3` ended with exit code 143"))
        assert self.open.left.wait(10), "the holder leaves the channel once it knows"

    def take_away(self, **more: Any) -> None:
        """Somebody else breaks it."""
        self.holder = HOLDER | more
        self.end()


class ModelLockStream:
    def __init__(self, model: LockModel, first: dict[str, Any]) -> None:
        self._model = model
        self._lines: queue.SimpleQueue[bytes | Exception | None] = queue.SimpleQueue()
        self.left = threading.Event()
        self.say(first)

    def say(self, document: dict[str, Any]) -> None:
        self._lines.put(json.dumps(document).encode() + b"\n")

    def lose(self) -> None:
        """The connection breaks off."""
        self.break_off(Unreachable("the connection was lost"))

    def break_off(self, error: Exception) -> None:
        self._lines.put(error)

    def chunks(self) -> Iterator[bytes]:
        while (line := self._lines.get(timeout=30)) is not None:
            if isinstance(line, Exception):
                raise line
            yield line

    def send(self, data: bytes) -> None:
        if data.strip():
            self._model.told.append(json.loads(data))
            self.say({"ended": True, "recorded": self._model.recording})
            self._lines.put(None)

    def close(self) -> None:
        self.left.set()
        self._lines.put(None)
