"""The few requests the proof makes of a server, over the standard library."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 240.0


class NoAnswer(Exception):
    """The server refused, broke off or took too long."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`tokens` are the new token ids; `verified` counts verify steps (0 without speculation)."""

    tokens: tuple[int, ...]
    text: str
    verified: int
    cached: int
    seconds: float
    reason: str


@dataclass(frozen=True, slots=True)
class Choice:
    """The best tokens of one position, best first, with log-probabilities."""

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]


class Client:
    """One server's HTTP interface; all methods raise NoAnswer."""

    def __init__(self, base: str) -> None:
        self.base = base

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.base}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def generate(self, prompts: Sequence[Sequence[int]], new_tokens: int, **sampling: Any) -> list[Answer]:
        """All prompts in one request: a batch as the server forms it. Greedy unless told otherwise; the end token is ignored."""
        parameters = {"temperature": 0, "ignore_eos": True, "max_new_tokens": new_tokens} | sampling
        found = self.post("/generate", {"input_ids": [list(prompt) for prompt in prompts], "sampling_params": parameters})
        return [_answer(one) for one in (found if isinstance(found, list) else [found])]

    def next_choices(self, prompt: Sequence[int], best: int = 8) -> Choice:
        """The best next tokens after `prompt`, from the server's own log-probabilities (plain servers only)."""
        body = {
            "input_ids": list(prompt),
            "sampling_params": {"temperature": 0, "max_new_tokens": 1, "ignore_eos": True},
            "return_logprob": True,
            "top_logprobs_num": best,
        }
        top = self.post("/generate", body)["meta_info"]["output_top_logprobs"][0]
        return Choice(tuple(int(entry[1]) for entry in top), tuple(float(entry[0]) for entry in top))

    def flush(self) -> None:
        """Empty the prefix cache, so that two runs of the same prompts cost the same."""
        self._open("/flush_cache", b"", TIMEOUT_S)

    def text(self, path: str) -> str:
        return self._open(path, None, 30).decode(errors="replace")

    def post(self, path: str, body: Any, timeout_s: float = TIMEOUT_S) -> Any:
        return json.loads(self._open(path, json.dumps(body).encode(), timeout_s) or b"null")

    def _open(self, path: str, body: bytes | None, timeout_s: float) -> bytes:
        request = urllib.request.Request(f"{self.base}{path}", body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise NoAnswer(f"{path}: {error.code} {error.read(500).decode(errors='replace')}") from error
        except OSError as error:
            raise NoAnswer(f"{path}: {error}") from error


def _answer(one: dict[str, Any]) -> Answer:
    about = one["meta_info"]
    return Answer(
        tokens=tuple(one["output_ids"]),
        text=one.get("text", ""),
        verified=int(about.get("spec_verify_ct", 0)),
        cached=int(about.get("cached_tokens", 0)),
        seconds=float(about.get("e2e_latency", 0.0)),
        reason=str((about.get("finish_reason") or {}).get("type", "")),
    )


def acceptance(answers: Sequence[Answer]) -> float:
    """Tokens a verify step, over all answers; the first token of each comes from the prompt's own forward pass."""
    steps = sum(answer.verified for answer in answers)
    return (sum(len(answer.tokens) - 1 for answer in answers) / steps) if steps else 1.0
