"""Stages from request to report, against a real HTTP server that speaks SGLang's form: what a GPU lease must not be spent on."""

from __future__ import annotations

import itertools
import json
import random
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.gpu import server
from tests.gpu.client import Client
from tests.gpu.report import render
from tests.gpu.results import Result
from tests.gpu.server import Servers, ServerSpec
from tests.gpu.stage import Found, Options

pytestmark = pytest.mark.processes

METRICS = 'sglang_ddtree_verify_steps_total{m="x"} 5\nsglang_ddtree_graph_fallbacks_total{m="x"} 0\nsglang:num_used_tokens 0\n'
SERVERS = ("plain", "dflash", "ddtree-7", "ddtree-31", "ddtree-31-timed", "loaded", "plain-tp2", "dflash-tp2", "ddtree-31-tp2")


class Handler(BaseHTTPRequestHandler):
    """A model that counts, and at temperature 1 adds chance; speculative servers take 3 tokens a step, `bias` skews chance."""

    def do_GET(self) -> None:
        self._reply(METRICS.encode())

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"null")
        if self.path != "/generate":
            return self._reply(b"")
        prompts = body["input_ids"] if isinstance(body["input_ids"][0], list) else [body["input_ids"]]
        answers = [self._answer(prompt, body["sampling_params"]) for prompt in prompts]
        return self._reply(json.dumps(answers if isinstance(body["input_ids"][0], list) else answers[0]).encode())

    def _answer(self, prompt: list[int], sampling: dict[str, Any]) -> dict[str, Any]:
        count, server = sampling["max_new_tokens"], self.server
        tokens = [(prompt[-1] + step) % 900 for step in range(1, count + 1)]
        if sampling["temperature"]:
            tokens = [server.draw.choices((5, 6, 7), (5, 3, 2 + server.bias))[0] for _ in tokens]  # type: ignore[attr-defined]
        steps = 0 if server.name.startswith("plain") else max(1, count // 3)  # type: ignore[attr-defined]
        top = [[[-0.1, tokens[0], None], [-3.0, 8, None]]]
        about = {"spec_verify_ct": steps, "cached_tokens": 0, "finish_reason": {"type": "length"}, "output_top_logprobs": top}
        return {"output_ids": tokens, "text": "x", "meta_info": about}

    def _reply(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the test's output."""


class Listening(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, name: str, log: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.name, self.log, self.bias, self.draw = name, log, 0.0, random.Random(name)  # noqa: S311
        self.client = Client(f"http://127.0.0.1:{self.server_address[1]}")
        log.write_text("all is well\n")
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def alive(self) -> bool:
        return True

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


@pytest.fixture
def options(tmp_path: Path) -> Options:
    prompts = {
        name: [[start, start + number] for number in range(48)] for name, start in (("seen", 1), ("prose", 100), ("unseen", 200))
    }
    (tmp_path / "prompts.json").write_text(json.dumps(prompts))
    return Options(tmp_path, tmp_path, (7, 31), 0.4, "cpu")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    with Servers(tmp_path, tmp_path) as made:
        made.running |= {name: Listening(name, tmp_path / f"{name}.log") for name in SERVERS}  # type: ignore[misc]
        yield made


def run(stage: str, options: Options, servers: Servers) -> Found:
    """The stage, and its part of the report, which must hold every verdict."""
    found: Found = import_module(f"tests.gpu.stages.{stage}").run(options, servers)
    machine = {"cards": [], "driver": "none", "python": "3", "versions": {}}
    result = Result(stage, "2026-01-01T00:00:00+00:00", 1.0, machine, {}, json.loads(json.dumps(found.findings)), found.verdicts)
    text = render([result])
    assert all(verdict.claim in text for verdict in found.verdicts)
    return found


@pytest.mark.parametrize("stage", ["baseline", "lossless", "acceptance", "tp2"])
def test_a_stage_without_a_fault_is_right(stage: str, options: Options, servers: Servers) -> None:
    verdicts = run(stage, options, servers).verdicts
    assert [verdict.right for verdict in verdicts] == [True] * len(verdicts), verdicts


def test_a_server_that_says_something_else_is_found_out(options: Options, servers: Servers) -> None:
    servers.running["ddtree-31"].name = "other"  # type: ignore[attr-defined]
    wrong: Any = servers.running["ddtree-31"].client
    original = wrong.generate
    wrong.generate = lambda prompts, tokens, **more: [
        type(one)((*one.tokens[:-1], 8), one.text, one.verified, 0, 0.0, "length") for one in original(prompts, tokens, **more)
    ]
    (verdict,) = run("lossless", options, servers).verdicts
    assert verdict.right is False
    assert "ddtree-31" in verdict.seen
    assert "dflash" not in verdict.seen


def test_speed_has_figures_for_every_batch(options: Options, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gpu.stages.throughput.BATCHES", (1, 4))
    monkeypatch.setattr("tests.gpu.stages.throughput.ROUNDS", 1)
    clock = (start + seconds for start in itertools.count(0, 10) for seconds in (0.0, 1.0, 2.0, 4.0))
    monkeypatch.setattr("tests.gpu.timing.time.perf_counter", lambda: next(clock))
    findings = run("throughput", options, servers).findings
    assert findings["speed"]["seen"]["ddtree-31"]["4"]["acceptance"] == pytest.approx(3, abs=0.1)
    assert findings["speed"]["seen"]["plain"]["4"]["tokens_per_s"] == 4 * 192
    assert findings["split_us"]["seen"]["1"] is None


@pytest.mark.parametrize(("bias", "right"), [(0.0, True), (1.5, False)])
def test_a_skewed_sampler_is_found_out(
    bias: float, right: bool, options: Options, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.gpu.stages.sampling.PROMPTS", 2)
    servers.running["ddtree-31"].bias = bias  # type: ignore[attr-defined]
    (verdict,) = run("sampling", options, servers).verdicts
    assert verdict.right is right, verdict


def test_a_leak_in_the_log_is_found_out(options: Options, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.gpu.stages.load.IDLE_S", 0.0)
    assert [verdict.right for verdict in run("load", options, servers).verdicts] == [True, True, True]
    servers.running["loaded"].log.write_text("token_to_kv_pool_allocator memory leak detected! available_size=1\n")
    assert [verdict.right for verdict in run("load", options, servers).verdicts] == [True, False, True]


def test_a_server_that_several_stages_need_is_started_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice would mean two servers on one port and in one log: seen on a GPU."""
    started: list[int] = []

    def command(spec: ServerSpec, models: Path, port: int) -> tuple[str, ...]:
        started.append(port)
        return (sys.executable, "-c", "")

    monkeypatch.setattr(server, "command", command)
    with Servers(tmp_path, tmp_path) as servers:
        died = servers.start(ServerSpec("plain"), ServerSpec("tree"), ServerSpec("plain"), ServerSpec("tree"))
    assert sorted(died) == ["plain", "tree"]
    assert started == [30000, 31500]
