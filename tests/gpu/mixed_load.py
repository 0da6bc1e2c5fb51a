"""A mixed load: many clients with short, long, shared-prefix, sampled, stopped and aborted requests, for a given time."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.gpu.client import Client, NoAnswer

CLIENTS = 40
ABORT_AFTER_S = (0.02, 0.6)
LONG_PROMPT = (3000, 9000)


@dataclass(slots=True)
class Tally:
    """What came of the requests: by kind answered, aborted, and errors in words."""

    answered: Counter[str] = field(default_factory=Counter)
    aborted: int = 0
    tokens: int = 0
    errors: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, kind: str, reason: str, tokens: int) -> None:
        with self.lock:
            self.answered[kind] += 1
            self.aborted += reason == "abort"
            self.tokens += tokens

    def fail(self, error: str) -> None:
        with self.lock:
            self.errors.append(error)


def run_load(client: Client, prompts: Sequence[Sequence[int]], seconds: float, alive: Callable[[], bool]) -> Tally:
    """40 clients until the time is over or the server is dead; every client draws its requests from its own fixed seed."""
    tally, deadline = Tally(), time.monotonic() + seconds
    threads = [
        threading.Thread(target=_client, args=(client, prompts, number, deadline, alive, tally)) for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 300)
    return tally


def _client(
    client: Client, prompts: Sequence[Sequence[int]], number: int, deadline: float, alive: Callable[[], bool], tally: Tally
) -> None:
    draw = random.Random(number)  # noqa: S311 - a load, no secret
    while time.monotonic() < deadline and alive():
        kind, body = _request(draw, prompts)
        try:
            about = _abort(client, body, draw, tally) if kind == "aborted" else client.post("/generate", body)
            reason = (about["meta_info"].get("finish_reason") or {}).get("type", "")
            tally.count(kind, reason, len(about.get("output_ids", ())))
        except NoAnswer as error:
            if kind != "aborted":
                tally.fail(f"{kind}: {error}"[:200])
            else:
                tally.count(kind, "abort", 0)


def _request(draw: random.Random, prompts: Sequence[Sequence[int]]) -> tuple[str, dict[str, Any]]:
    """A kind and a request body of that kind."""
    prompt = list(draw.choice(prompts))
    kind = draw.choices(("short", "sampled", "stopped", "shared", "long", "aborted"), (30, 15, 15, 20, 8, 12))[0]
    sampling: dict[str, Any] = {"temperature": 0, "max_new_tokens": draw.randint(1, 200), "ignore_eos": draw.random() < 0.5}
    if kind == "sampled":
        sampling |= {"temperature": draw.choice((0.5, 1.0)), "top_p": draw.choice((1.0, 0.9)), "top_k": draw.choice((-1, 20))}
    elif kind == "stopped":
        sampling |= {"stop_token_ids": draw.sample(range(4, 1000), 60)}
    elif kind == "shared":
        prompt = [*prompts[0], *prompts[1], *prompts[2], *prompt[: draw.randint(1, len(prompt))]]
    elif kind == "long":
        stream = [token for one in prompts for token in one]
        prompt = (stream * 4)[: draw.randint(*LONG_PROMPT)]
    elif kind == "aborted":
        sampling |= {"max_new_tokens": 2000, "ignore_eos": True}
    return kind, {"input_ids": prompt, "sampling_params": sampling}


def _abort(client: Client, body: dict[str, Any], draw: random.Random, tally: Tally) -> Any:
    """Start a long answer and abort it by its request id while it runs."""
    name = uuid.UUID(int=draw.getrandbits(128)).hex

    def abort() -> None:
        try:
            client.post("/abort_request", {"rid": name})
        except NoAnswer as error:
            tally.fail(f"abort: {error}"[:200])

    timer = threading.Timer(draw.uniform(*ABORT_AFTER_S), abort)
    timer.start()
    try:
        return client.post("/generate", body | {"rid": name})
    finally:
        timer.join()
