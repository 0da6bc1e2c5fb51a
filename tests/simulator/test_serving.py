"""What it answers."""

from __future__ import annotations

import json
import re
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulator.server import Server, draft, running

pytestmark = pytest.mark.processes

PROMPTS = ("The capital of France is", "Tell me about trees", "Once upon a time", "x" * 200, "Grüße aus Köln")


@pytest.fixture(scope="module")
def tree(models: Path) -> Iterator[Server]:
    """A server with DDTREE on two ranks."""
    schedule = ("--speculative-ddtree-budget-schedule", '{"1": 31, "3": 15}', "--tp-size", "2")
    with running(models, *draft(models, "DDTREE", *schedule)) as server:
        yield server


@pytest.fixture(scope="module")
def plain(models: Path) -> Iterator[Server]:
    """A server without speculation, behind an API key."""
    with running(models, "--api-key", "secret") as server:
        yield server


def ask(server: Server, prompt: str, key: str | None = None, **body: object) -> dict[str, object]:
    """A /generate request with a key."""
    sampling = {"temperature": 0, "max_new_tokens": 60}
    status, text = server.request("/generate", {"text": prompt, "sampling_params": sampling, **body}, key=key)
    assert status == 200, text
    answer: dict[str, object] = json.loads(text)
    return answer


def test_answers_are_the_same_with_and_without_speculation(tree: Server, plain: Server, models: Path) -> None:
    """Token for token; only the number of steps differs."""
    with running(models, *draft(models, "DFLASH")) as chain:
        for prompt in PROMPTS:
            expected = ask(plain, prompt, "secret")["output_ids"]
            for server in (tree, chain):
                assert ask(server, prompt)["output_ids"] == expected
        steps = {
            name: server.generate("count", 100, ignore_eos=True)["meta_info"]["spec_verify_ct"]
            for name, server in (("tree", tree), ("chain", chain))
        }
    assert steps["tree"] < steps["chain"] < 99


def test_meta_info_has_the_real_fields(tree: Server) -> None:
    """And they fit together."""
    meta = tree.generate("Tell me about rivers", 40, ignore_eos=True)["meta_info"]
    assert meta["completion_tokens"] == 40
    assert meta["finish_reason"] == {"type": "length", "length": 40}
    assert meta["spec_accept_length"] == pytest.approx(40 / meta["spec_verify_ct"])
    assert {"id", "prompt_tokens", "cached_tokens", "e2e_latency", "spec_accept_rate"} <= meta.keys()


def test_batches_of_any_size_fit_their_graphs(tree: Server) -> None:
    """Widths change with the batch under a budget schedule, and must agree with what was captured for that size."""
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(tree.generate(f"Story {n}", 60, ignore_eos=True)["text"]))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(answers) == 6


def test_stop_strings_and_streams(tree: Server) -> None:
    """A stop string isn't part of the answer; a stream ends with [DONE] and adds up to the whole."""
    assert tree.generate("One, two, three,", 60, stop=" seven")["text"] == " four, five, six,"
    body = {"text": PROMPTS[0], "sampling_params": {"max_new_tokens": 40}, "stream": True}
    events = [line[6:] for line in tree.request("/generate", body)[1].split("\n\n") if line]
    assert events[-1] == "[DONE]"
    assert json.loads(events[-2])["text"] == tree.generate(PROMPTS[0], 40)["text"]
    assert len(events) > 3


def test_openai_routes(tree: Server) -> None:
    """Models, completions, chat; streamed deltas add up."""
    model = json.loads(tree.request("/v1/models")[1])["data"][0]["id"]
    completion = json.loads(tree.request("/v1/completions", {"model": model, "prompt": PROMPTS[0]})[1])
    assert completion["choices"][0]["text"].startswith(" Paris")
    assert completion["usage"]["completion_tokens"] == 16
    chat = {"model": model, "messages": [{"role": "user", "content": "What is the capital of Japan?"}]}
    whole = json.loads(tree.request("/v1/chat/completions", chat)[1])["choices"][0]["message"]["content"]
    assert whole == "Tokyo is the capital of Japan."
    events = tree.request("/v1/chat/completions", {**chat, "stream": True})[1].split("\n\n")
    parts = [json.loads(event[6:])["choices"][0] for event in events if event.startswith("data: {")]
    assert "".join(part["delta"]["content"] for part in parts) == whole
    assert parts[-1]["finish_reason"] == "stop"


def test_bad_requests(tree: Server) -> None:
    """400, 404, 405 in time, and the server goes on."""
    assert tree.request("/generate", {"text": ""})[0] == 400
    assert tree.request("/generate", {"text": "a", "sampling_params": {"max_new_tokens": -1}})[0] == 400
    assert tree.request("/generate", {"text": "x" * 9000})[0] == 400
    assert tree.request("/nothing")[0] == 404
    assert tree.request("/generate")[0] == 405
    assert tree.request("/health")[0] == 200


def test_an_api_key_guards_all_but_health_and_metrics(plain: Server) -> None:
    """401 without it."""
    assert plain.request("/health")[0] == plain.request("/metrics")[0] == 200
    for path in ("/v1/models", "/model_info", "/server_info"):
        assert plain.request(path)[0] == plain.request(path, key="wrong")[0] == 401
        assert plain.request(path, key="secret")[0] == 200


def test_metrics_move(tree: Server) -> None:
    """Counters grow by what was asked; speculative gauges are 0 while idle."""

    def sample(name: str) -> float:
        text = tree.request("/metrics")[1]
        return sum(float(value) for value in re.findall(rf"^sglang:{name}\{{[^}}]*\}} (\S+)$", text, re.M))

    before = {name: sample(name) for name in ("generation_tokens_total", "num_requests_total", "spec_verify_calls_total")}
    verify = tree.generate("Metrics", 30, ignore_eos=True)["meta_info"]["spec_verify_ct"]
    tree.request("/health")
    assert sample("generation_tokens_total") == before["generation_tokens_total"] + 30
    assert sample("num_requests_total") == before["num_requests_total"] + 1
    assert sample("spec_verify_calls_total") == before["spec_verify_calls_total"] + verify
    assert sample("spec_accept_length") == sample("num_running_reqs") == 0
    assert sample("e2e_request_latency_seconds_count") == sample("queue_time_seconds_count") == before["num_requests_total"] + 1


def test_the_time_between_tokens_is_known_of_long_answers(tree: Server) -> None:
    """As SGLang hands out what isn't streamed: in parts of 50 tokens, and one part has no time between it and another."""

    def counted() -> float:
        found = re.findall(r"^sglang:inter_token_latency_seconds_count\S* (\S+)$", tree.request("/metrics")[1], re.M)
        return sum(map(float, found))

    before = counted()
    tree.generate("Short", 30, ignore_eos=True)
    assert counted() == before
    tree.generate("Long", 80, ignore_eos=True)
    assert counted() == before + 79


def test_server_info_shows_the_resolved_arguments(tree: Server) -> None:
    """Widths can be worked out from it."""
    info = json.loads(tree.request("/server_info")[1])
    assert (info["speculative_num_draft_tokens"], info["speculative_ddtree_budget"]) == (8, 31)
    assert info["version"] == "0.5.13.post1"
    assert info["internal_states"][0]["memory_usage"]["token_capacity"] == info["max_total_num_tokens"] > 0


def test_the_port_is_closed_while_loading_and_health_is_503_until_warm(models: Path) -> None:
    """Refused, then 503, then 200."""
    with running(models, ready=False, SIM_SECONDS_WARMUP="1.0") as server:
        server.wait_for("Load weight begin")
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", server.port), 1):
            pass
        server.wait_for("Uvicorn running")
        assert server.request("/health")[0] == 503
        assert server.request("/v1/models")[0] == 200
        server.wait_for("fired up")
        assert server.request("/health")[0] == 200


def test_a_stop_drains_what_runs(models: Path) -> None:
    """The answer under way arrives whole; then the tree is killed."""
    with running(models, SIM_TOKENS_PER_SECOND="60") as server:
        answers: list[int] = []
        asking = threading.Thread(target=lambda: answers.append(len(server.generate("Long", 60, ignore_eos=True)["output_ids"])))
        asking.start()
        server.wait_for("#running-req: 0, #queue-req: 0", 5)
        server.wait_for("#new-token: 4,", 5)
        server.process.send_signal(signal.SIGTERM)
        assert server.wait_ended() == -signal.SIGKILL
        asking.join(5)
        text = server.text
    assert answers == [60]
    drained = "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[]."
    assert text.index("SIGTERM received. signum=None frame=None. Draining requests and shutting down...") < text.index(drained)


def test_wrong_answers_and_a_hang(models: Path) -> None:
    """The port answers, the generation is rubbish; or nothing comes at all and health fails."""
    with running(models, SIM_FAULT="wrong_answers") as server:
        assert set(server.generate("The capital of France is", 8)["text"]) == {"!"}
    with running(models, "--watchdog-timeout", "1", SIM_FAULT="hang:serving") as server:
        with pytest.raises(OSError):
            server.generate("The capital of France is", 8)
        assert server.wait_ended() == -signal.SIGKILL
        assert "Scheduler watchdog timeout (self.watchdog_timeout=1, self.soft=False)" in server.text
