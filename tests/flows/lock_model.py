"""The host's lock program behind a stream: what it answers, and what a test does to it meanwhile."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.errors import Unreachable

HOLDER = {"user": "anna", "controller": "laptop", "pid": 4711, "command": "deploy --host ct200", "since": "2026-11-30T01:02:03Z"}


@dataclass
class LockModel:
    """One host's lock. `holder`: somebody else has it. `told` are the audit records that the program was given."""

    holder: dict[str, Any] | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    open: ModelLockStream | None = None

    def stream(self, argument: str) -> ModelLockStream:
        wanted = json.loads(argument)
        self.asked.append(wanted)
        free = self.holder is None or wanted["break"]
        self.open = ModelLockStream(self, {"locked": True} if free else {"locked": False, "holder": self.holder})
        return self.open

    def take_away(self) -> None:
        """Somebody else breaks it."""
        assert self.open is not None
        self.open.say({"lost": True})
        assert self.open.left.wait(10), "the holder leaves the channel once it knows"


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
        self._lines.put(Unreachable("the connection was lost"))

    def chunks(self) -> Iterator[bytes]:
        while (line := self._lines.get(timeout=30)) is not None:
            if isinstance(line, Exception):
                raise line
            yield line

    def send(self, data: bytes) -> None:
        if data.strip():
            self._model.told.append(json.loads(data))
            self.say({"ended": True})
            self._lines.put(None)

    def close(self) -> None:
        self.left.set()
        self._lines.put(None)
