"""The plugin's counters on the simulator's /metrics, and the faults that the acceptance gate must notice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddtree_ops.units.exposition import parse_samples
from ddtree_ops.units.tree_counters import PREFIX, Growth, growth, read_counters
from tests.simulator.server import Server, draft, running

pytestmark = pytest.mark.processes


def counters(server: Server) -> bytes:
    status, text = server.request("/metrics")
    assert status == 200
    return text.encode()


def asked(server: Server, prompt: str) -> tuple[Growth, dict[str, int]]:
    """What one request adds to the counters, and its own meta_info."""
    before = read_counters(counters(server))
    meta = server.generate(prompt, 60, ignore_eos=True)["meta_info"]
    found = growth(before, read_counters(counters(server)))
    assert isinstance(found, Growth)
    return found, meta


def test_counters_agree_with_what_the_answers_say(models: Path) -> None:
    schedule = ("--speculative-ddtree-budget-schedule", "1:23,3:15", "--tp-size", "2")
    with running(models, *draft(models, "DDTREE", *schedule)) as server:
        found, meta = asked(server, "Once upon a time")
        samples = {(one.name, one.labels): one.value for one in parse_samples(counters(server), PREFIX)}
    assert found.committed == meta["completion_tokens"] - 1 == 59
    assert found.steps == found.passes == meta["spec_verify_ct"]
    assert found.accepted == meta["spec_accept_token_num"]
    assert found.proposed == found.steps * 23
    assert found.fallbacks == 0
    label = ("model_name", str(models / "target"))
    length = {name: samples[(f"{PREFIX}acceptance_length_{name}", (label,))] for name in ("sum", "count")}
    assert length["sum"] == samples[(f"{PREFIX}committed_tokens_total", (label,))]
    assert (f"{PREFIX}step_seconds_total", (label, ("part", "verify"))) in samples


def test_dflash_has_none_of_them(models: Path) -> None:
    with running(models, *draft(models, "DFLASH")) as server:
        assert read_counters(counters(server)).missing


def test_faults_of_the_gate(models: Path) -> None:
    with running(models, *draft(models, "DDTREE")) as server:
        usual, _ = asked(server, "Tell me about trees")
        text = server.generate("Tell me about trees", 60, ignore_eos=True)["output_ids"]
    faults = "counters_stuck,wrong_algorithm,other_answers:7"
    with running(models, *draft(models, "DDTREE"), SIM_FAULT=faults) as server:
        stuck, _ = asked(server, "Tell me about trees")
        other = server.generate("Tell me about trees", 60, ignore_eos=True)["output_ids"]
        assert server.generate("The capital of France is", 8)["text"].startswith(" Paris")
        assert json.loads(server.request("/server_info")[1])["speculative_algorithm"] == "DFLASH"
    with running(models, *draft(models, "DDTREE"), SIM_FAULT="low_acceptance") as server:
        low, _ = asked(server, "Tell me about trees")
    with running(models, *draft(models, "DDTREE"), SIM_FAULT="no_metrics") as server:
        assert server.request("/metrics")[0] == 404
    assert stuck == Growth(0, 0, 0, 0, 0)
    assert (text[:7], text[7]) != (other[:7], other[7])
    assert other[:7] == text[:7]
    assert low.steps == low.committed == 59
    assert usual.committed / usual.steps > 2
