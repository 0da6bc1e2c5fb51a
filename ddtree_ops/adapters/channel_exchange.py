"""Both outputs of a program over SSH, read side by side: one that nobody reads stops the program once its window is full."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from ddtree_ops.adapters.output import CHUNK, Words


class ChannelExchange:
    """Standard output is handed over, of standard error the beginning is kept: as local_process.Exchange."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._words = Words()
        self._news = threading.Event()
        for buffer in (channel.in_buffer, channel.in_stderr_buffer):  # paramiko.buffered_pipe.BufferedPipe
            buffer.set_event(self._news)

    def pieces(self, deadline: float | None) -> Iterator[bytes]:
        """Standard output as it comes, until both have ended, or close() by any thread. Raises TimeoutError at the deadline."""
        channel = self._channel
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            ended = channel.eof_received or channel.closed  # whatever came before is in the buffers by now
            data = channel.recv(CHUNK) if channel.recv_ready() else b""
            said = channel.recv_stderr(CHUNK) if channel.recv_stderr_ready() else b""
            self._words.keep(said)
            if data:
                yield data
            if data or said:
                continue
            if ended:
                return
            # An event for both: emptying one buffer clears it, also where the other has just been filled.
            if not (channel.recv_ready() or channel.recv_stderr_ready()):
                self._news.wait(left)

    def said(self) -> str:
        """Standard error, as far as it was read and kept."""
        return str(self._words)
