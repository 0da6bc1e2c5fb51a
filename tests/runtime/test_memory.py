"""The memory estimate against real figures: recorded starts on H200s, and what others measured for Kimi on RTX and B300."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ddtree_ops.runtime.memory import Measured, MemorySettings, Model, estimate, shape_of
from ddtree_ops.units.memory_lines import MemoryFigures, read_figures

TESTS = Path(__file__).resolve().parents[1]
RECORDED = TESTS / "cases" / "recorded"
BASE: dict[str, Any] = yaml.safe_load((TESTS / "fleet" / "runtime_cases" / "base.yml").read_text(encoding="utf-8"))
KIMI = Model(shape_of(BASE["model"]["config"]), BASE["model"]["size"])
RTX, B300, H200 = 97887 / 1024, 275040 / 1024, 143771 / 1024

# As the recorded starts' models were made: Qwen3 with 6 layers, and a draft of 2.
TINY: dict[str, Any] = {
    "num_hidden_layers": 6,
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "vocab_size": 4096,
    "max_position_embeddings": 8192,
}
TARGET = Model(shape_of(TINY), 40_000_000)
DRAFT = Model(shape_of({**TINY, "num_hidden_layers": 2, "dflash_config": {"target_layer_ids": [1, 4]}}), 11_000_000)


def messages(name: str) -> Iterator[str]:
    for line in (RECORDED / name / "journal.jsonl").read_text(encoding="utf-8").splitlines():
        message = json.loads(line).get("MESSAGE") or ""
        yield bytes(message).decode("utf-8", "replace") if isinstance(message, list) else message


def figures_of(messages: Iterable[str]) -> Mapping[str, float]:
    """The figures in a whole log."""
    figures = MemoryFigures()
    for message in messages:
        figures.feed(message)
    return figures.found


@pytest.mark.parametrize(("name", "ranks"), [("dflash_ok", 1), ("tp2_ddtree_shape", 2)])
def test_within_a_tenth_of_the_recorded_starts(name: str, ranks: int) -> None:
    seen = figures_of(messages(name))
    settings = MemorySettings(
        H200, 0.2, ranks=ranks, context=8192, concurrency=8, graph_batch=4, verify_width=8, block=8, triton=True
    )
    found = estimate(TARGET, DRAFT, settings)
    assert found is not None
    assert found.tokens == pytest.approx(seen["tokens"], rel=0.1)
    assert found.pool_gib == pytest.approx(seen["kv"] + seen["draft_kv"], rel=0.1)
    assert found.weights_gib == pytest.approx(seen["weights"], abs=0.03)
    lines = {line.what: line for line in found.lines}
    assert lines["CUDA graphs"].gib == pytest.approx(seen["graphs"] + seen["draft_graphs"], abs=0.03)
    calibrated = estimate(TARGET, DRAFT, settings, Measured("r", seen))
    assert calibrated is not None
    assert calibrated.tokens == pytest.approx(seen["tokens"], rel=0.01)


@pytest.mark.parametrize(
    ("kv_bytes", "tokens", "per_token"), [(2.0, 116153, 70272), (1.0, 232306, 35136)]
)  # measured with SGLang 0.5.12.post1, KS:REFERENCE.md (hardware.py)
def test_kimi_on_eight_rtx_pro_6000(kv_bytes: float, tokens: int, per_token: int) -> None:
    found = estimate(KIMI, None, MemorySettings(RTX, 0.85, ranks=8, kv_bytes=kv_bytes))
    assert found is not None
    assert found.per_token == per_token
    assert found.weights_gib == pytest.approx(72.1, rel=0.02)
    assert found.tokens == pytest.approx(tokens, rel=0.1)


def test_kimi_on_eight_b300() -> None:
    found = estimate(KIMI, None, MemorySettings(B300, 0.85, ranks=8))
    assert found is not None
    assert found.pool_gib == pytest.approx(156, rel=0.02)


def test_the_sum_of_the_lines_is_the_memory_of_the_gpu() -> None:
    settings = MemorySettings(RTX, 0.8, ranks=8, context=131072, concurrency=8, graph_batch=8, verify_width=32, triton=True)
    found = estimate(KIMI, Model(shape_of(BASE["draft"]["config"]), BASE["draft"]["size"]), settings)
    assert found is not None
    free, *parts = found.lines
    assert sum(line.gib for line in parts) == pytest.approx(free.gib)
    assert found.rest_gib == parts[-1].gib


def test_a_pool_of_less_than_nothing_has_no_tokens() -> None:
    found = estimate(KIMI, None, MemorySettings(RTX, 0.5, ranks=8))
    assert found is not None
    assert (found.tokens, found.pool_gib < 0) == (0, True)


def test_a_cap_and_pages_bound_the_tokens() -> None:
    settings = MemorySettings(RTX, 0.85, ranks=8, max_tokens=1000, page=64)
    found = estimate(KIMI, None, settings)
    assert found is not None
    assert found.tokens == 960
    assert estimate(Model(dataclasses.replace(KIMI.shape, layers=None), 1), None, settings) is None


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"text_config": 7},
        {"num_hidden_layers": -1},
        {"num_hidden_layers": 2**40},
        {"num_hidden_layers": True},
        {"hidden_size": "x"},
    ],
)
def test_absurd_configs_say_nothing(config: Mapping[str, Any]) -> None:
    assert shape_of(config).layers is None
    assert estimate(Model(shape_of(config), 10**9), None, MemorySettings(RTX, 0.85)) is None


def test_figures_are_read_of_rank_0_and_only_sensible_ones() -> None:
    line = "[2026-11-29 18:36:27 TP1] Load weight end. elapsed=0.09 s, type=X, avail mem=1.00 GB, mem usage=9.99 GB."
    assert figures_of([line]) == {}
    assert figures_of([line.replace("TP1", "TP0")]) == {"weights": 9.99}
    mla = "[2026-11-29 18:36:27 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 42, KV size: 7.61 GB"
    assert figures_of([mla]) == {"tokens": 42.0, "kv": 7.61}
    assert read_figures({"weights": 1, "kv": -1, "graphs": True, "other": 3, "tokens": "7", "free_before": float("nan")}) == {
        "weights": 1.0
    }
    assert read_figures([1]) == read_figures(None) == {}
