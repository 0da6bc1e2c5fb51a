"""The main process's side of a request: encodes it, sends it to rank 0, collects its answers."""

from __future__ import annotations

import queue
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sglang.simulation import wire
from sglang.simulation.language import encode

DEFAULT_MAX_NEW_TOKENS = 128
HEALTH_CHECK = "HEALTH_CHECK"  # how the ids of health checks begin; metrics leave them out


class BadRequest(ValueError):
    """A request that can't be served: HTTP 400."""


@dataclass(frozen=True)
class SamplingParams:
    """What a caller may ask for. Temperature is taken and changes nothing: answers are deterministic."""

    max_new_tokens: int = DEFAULT_MAX_NEW_TOKENS
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> SamplingParams:
        """From a request's JSON. Raises BadRequest."""
        tokens = values.get("max_new_tokens", DEFAULT_MAX_NEW_TOKENS)
        temperature = values.get("temperature", 1.0)
        if not isinstance(tokens, int) or tokens < 0:
            raise BadRequest(f"max_new_tokens must be at least 0, got {tokens}.")
        if not isinstance(temperature, (int, float)) or temperature < 0:
            raise BadRequest(f"temperature must be non-negative, got {temperature}.")
        stop = values.get("stop") or ()
        stop = (stop,) if isinstance(stop, str) else tuple(stop)
        if not all(isinstance(text, str) for text in stop):
            raise BadRequest("stop must be a string or a list of strings.")
        return cls(max(tokens, 1), stop, bool(values.get("ignore_eos", False)))


class TokenizerManager:
    """Requests in flight. `on_output` sees every message of the detokenizer, `on_generation` every complete answer."""

    def __init__(self, requests: socket.socket, texts: socket.socket, context_len: int) -> None:
        self._requests = requests
        self._texts = texts
        self._context_len = context_len
        self._lock = threading.Lock()
        self._waiting: dict[str, queue.SimpleQueue[dict[str, Any]]] = {}
        self.on_output: Callable[[dict[str, Any]], None] = lambda _message: None
        self.on_generation: Callable[[dict[str, Any], float], None] = lambda _answer, _first: None
        self.is_ready = False
        self.gracefully_exit = False

    def start(self) -> None:
        """Begin to collect answers."""
        threading.Thread(target=self._collect, daemon=True).start()

    @property
    def remaining_rids(self) -> list[str]:
        """Requests not answered yet."""
        with self._lock:
            return list(self._waiting)

    def generate(self, text: str, params: SamplingParams, rid: str | None = None) -> Iterator[dict[str, Any]]:
        """Send a request; gives one message per step, the last with a finish_reason. Raises BadRequest."""
        rid = rid or uuid.uuid4().hex
        tokens = encode(text)
        if not tokens:
            raise BadRequest("The prompt must not be empty.")
        if len(tokens) >= self._context_len:
            raise BadRequest(
                f"The input ({len(tokens)} tokens) is longer than the model's context length ({self._context_len} tokens)."
            )
        answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        with self._lock:
            self._waiting[rid] = answers
            self._send(rid, tokens, params)
        return self._answers(rid, answers, time.monotonic())

    def _send(self, rid: str, tokens: list[int], params: SamplingParams) -> None:
        message = {
            "rid": rid,
            "input_ids": tokens,
            "max_new_tokens": min(params.max_new_tokens, self._context_len - len(tokens)),
            "stop": list(params.stop),
            "ignore_eos": params.ignore_eos,
            "phase": "serving" if self.is_ready else "warmup",
        }
        wire.send(self._requests, message)

    def _answers(self, rid: str, answers: queue.SimpleQueue[dict[str, Any]], began: float) -> Iterator[dict[str, Any]]:
        finished, first = False, 0.0
        try:
            while not finished:
                answer = answers.get()
                answer["e2e_latency"] = time.monotonic() - began
                first = first or answer["e2e_latency"]
                finished = answer["finish_reason"] is not None
                if finished and not rid.startswith(HEALTH_CHECK):
                    self.on_generation(answer, first)
                yield answer
        finally:
            with self._lock:
                self._waiting.pop(rid, None)
                if not finished:
                    wire.send(self._requests, {"abort": rid})

    def flush_cache(self) -> bool:
        """Forget cached prefixes; refused while requests run."""
        with self._lock:
            if self._waiting:
                return False
            wire.send(self._requests, {"flush_cache": True})
        return True

    def _collect(self) -> None:
        while True:
            try:
                message = wire.receive(self._texts)
            except wire.PeerGone:
                return
            self.on_output(message)
            for req in message["reqs"]:
                with self._lock:
                    waiting = self._waiting.get(req["rid"])
                if waiting is not None:
                    waiting.put(req)
