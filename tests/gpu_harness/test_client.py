"""Client, load and timing against a real HTTP server that answers in SGLang's form."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.gpu.client import Client, NoAnswer
from tests.gpu.mixed_load import run_load
from tests.gpu.timing import measure

pytestmark = pytest.mark.processes


class Handler(BaseHTTPRequestHandler):
    """Counts upwards from the last token of a prompt, two tokens a verify step; refuses prompts that hold 13."""

    def do_GET(self) -> None:
        self._reply(200, b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"null")
        server: Any = self.server
        if self.path != "/generate":
            server.aborted.append(body["rid"])
            return self._reply(200, b"")
        server.bodies.append(body)
        prompts = body["input_ids"] if isinstance(body["input_ids"][0], list) else [body["input_ids"]]
        if any(13 in prompt for prompt in prompts):
            return self._reply(400, b"unlucky")
        answers = [self._answer(prompt, body) for prompt in prompts]
        return self._reply(200, json.dumps(answers if isinstance(body["input_ids"][0], list) else answers[0]).encode())

    def _answer(self, prompt: list[int], body: dict[str, Any]) -> dict[str, Any]:
        count = body["sampling_params"]["max_new_tokens"]
        about = {"spec_verify_ct": count // 2, "cached_tokens": 0, "e2e_latency": 0.1, "finish_reason": {"type": "length"}}
        about["output_top_logprobs"] = [[[-0.1, 7, None], [-2.5, 8, None]]]
        return {"output_ids": [prompt[-1] + step for step in range(1, count + 1)], "text": "x", "meta_info": about}

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the test's output."""


class Backlog(ThreadingHTTPServer):
    """Takes 40 clients at once; the default of 5 waiting connections resets some."""

    request_queue_size = 128


@pytest.fixture
def served() -> Iterator[Any]:
    server: Any = Backlog(("127.0.0.1", 0), Handler)
    server.bodies, server.aborted = [], []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def client_of(server: Any) -> Client:
    return Client(f"http://127.0.0.1:{server.server_address[1]}")


def test_a_batch_is_one_request_and_greedy(served: Any) -> None:
    answers = client_of(served).generate([[1, 2], [5]], 4)
    assert [answer.tokens for answer in answers] == [(3, 4, 5, 6), (6, 7, 8, 9)]
    assert answers[0].verified == 2
    assert served.bodies[0]["sampling_params"] == {"temperature": 0, "ignore_eos": True, "max_new_tokens": 4}


def test_the_best_choices_come_with_log_probabilities(served: Any) -> None:
    choice = client_of(served).next_choices([1])
    assert (choice.tokens, choice.logprobs) == ((7, 8), (-0.1, -2.5))


def test_a_refusal_and_a_closed_port_are_no_answer(served: Any) -> None:
    with pytest.raises(NoAnswer, match="400 unlucky"):
        client_of(served).generate([[13]], 4)
    with pytest.raises(NoAnswer):
        Client("http://127.0.0.1:9").generate([[1]], 4)
    assert not Client("http://127.0.0.1:9").healthy()
    assert client_of(served).healthy()


def test_decoding_is_the_difference_of_a_long_and_a_short_answer(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((0.0, 1.0, 10.0, 12.0))
    monkeypatch.setattr("tests.gpu.timing.time.perf_counter", lambda: next(clock))
    speed = measure(client_of(served), [[1], [2]])
    assert [body["sampling_params"]["max_new_tokens"] for body in served.bodies] == [32, 224]
    assert speed.acceptance == 2.0
    assert speed.tokens_per_s == pytest.approx(2 * 192)
    assert speed.step_ms == pytest.approx(1000 / 96)


def test_the_load_mixes_all_kinds_aborts_and_remembers_errors(served: Any) -> None:
    prompts = [[1, 2, 3] * 20, [4, 5, 6] * 20, [7, 8] * 20, [9, 13] * 20]
    tally = run_load(client_of(served), prompts, 1.5, lambda: True)
    asked = set(tally.answered) | {error.split(":")[0] for error in tally.errors}
    assert asked == {"short", "sampled", "stopped", "shared", "long", "aborted"}
    assert served.aborted
    assert all("400 unlucky" in error for error in tally.errors)
    assert tally.errors
    longest = max(len(body["input_ids"]) for body in served.bodies)
    assert longest > 300


def test_the_load_ends_when_the_server_is_dead(served: Any) -> None:
    tally = run_load(client_of(served), [[1]] * 4, 60, lambda: False)
    assert tally.answered.total() == 0
