"""The detokenizer: turns the ranks' tokens into text on their way to the tokenizer manager."""

from __future__ import annotations

import socket
import time
from typing import Any

from sglang.simulation import wire
from sglang.simulation.console import write
from sglang.simulation.language import decode
from sglang.simulation.process import set_title


def run_detokenizer_process(tokens: socket.socket, texts: socket.socket) -> None:
    """The detokenizer's life; it ends with the server."""
    write("flashinfer.comm is not available, falling back to standard implementation\n")
    set_title("sglang::detokenizer")
    began = time.process_time()
    while True:
        try:
            message = wire.receive(tokens)
            for req in message["reqs"]:
                req["text"] = _trimmed(decode(req["output_ids"]), req["finish_reason"])
            message["detokenizer_cpu_seconds"] = time.process_time() - began
            wire.send(texts, message)
        except wire.PeerGone:
            return


def _trimmed(text: str, finish_reason: dict[str, Any] | None) -> str:
    """Text up to the matched stop string, which is not part of the answer."""
    matched = (finish_reason or {}).get("matched")
    return text.partition(matched)[0] if isinstance(matched, str) else text
