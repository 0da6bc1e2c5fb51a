"""What a number is, in terms of a run's arguments, and where those are known from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage.block import Frame
from ddtree_ops.triage.model import ServerArgs
from ddtree_ops.triage.numbers import FROM_LOG, FROM_SERVER_INFO, Facts, explain, facts_from_server_info, is_width, together

CASE = Path(__file__).parent.parent / "cases" / "signatures" / "graph_story_server_info"
ARGS: ServerArgs = {
    "speculative_num_draft_tokens": 8,
    "speculative_ddtree_budget": 32,
    "speculative_ddtree_budget_schedule": {1: 31, 8: 23},
    "tp_size": 4,
    "cuda_graph_max_bs": 16,
    "max_running_requests": 8,
}
#: As /server_info of SGLang 0.5.13.post1 answers, cut to what matters here.
INFO = {
    "model_path": "/models/tiny/target",
    "tp_size": 1,
    "api_key": "sk-1",
    "admin_api_key": None,
    "speculative_num_draft_tokens": 8,
    "cuda_graph_bs": [1, 2, 3, 4],
    "internal_states": [
        {"tp_size": 1, "max_speculative_num_draft_tokens": 8, "memory_usage": {"weight": 0.05}, "api_key": "sk-1"}
    ],
    "version": "0.5.13.post1",
}


@pytest.mark.parametrize(
    ("value", "expressions"),
    [
        (33, ["speculative_ddtree_budget + 1 = 33"]),
        (32, ["a budget of speculative_ddtree_budget_schedule (31) + 1 = 32"]),
        (66, ["2 requests x speculative_ddtree_budget + 1 (33) = 66"]),
        (4, ["tp_size = 4"]),
        (1009, ["in no argument of this run; one more than 1008"]),
    ],
)
def test_numbers(value: int, expressions: list[str]) -> None:
    assert [item.expression for item in explain(value, Facts(ARGS))] == expressions


def test_widths() -> None:
    assert [value for value in (4, 5, 8, 16, 24, 33, 1000) if is_width(value, Facts(ARGS))] == [8, 16, 24, 33]


def test_without_arguments_nothing_is_explained() -> None:
    assert explain(33, Facts()) == []


def test_raising_frames_say_what_is_meant() -> None:
    same: ServerArgs = {"nnodes": 2, "tp_size": 2, "page_size": 2, "num_continuous_decode_steps": 2}
    page = Frame("/opt/s/sglang/srt/mem_cache/allocator.py", 1, "alloc", "pages = indices[:: self.page_size] // self.page_size")
    split = Frame("/opt/s/sglang/srt/layers/linear.py", 1, "forward", "width = divide(self.input_size, tp_size)")
    assert explain(2, Facts(same), (split, page))[0].expression == "page_size = 2"
    assert explain(2, Facts(same), (page, split))[0].expression == "tp_size = 2"
    assert len(explain(2, Facts(same))) == 3


def test_the_path_of_an_installation_says_nothing() -> None:
    same: ServerArgs = {"speculative_dflash_block_size": 33, "speculative_ddtree_budget": 32}
    frame = Frame("/opt/ddtree/current/venv/lib/python3.12/site-packages/sglang/srt/layers/dflash_block.py", 1, "f", "block(x)")
    assert explain(33, Facts(same), (frame,))[0].expression == "speculative_dflash_block_size = 33"


def test_server_info() -> None:
    facts = facts_from_server_info(INFO)
    assert (facts.integer("tp_size"), facts.integer("max_speculative_num_draft_tokens")) == (1, 8)
    assert not any("key" in name for name in facts.server_args)
    assert "internal_states" not in facts.server_args
    assert explain(8, facts)[0].source == FROM_SERVER_INFO


@pytest.mark.parametrize("data", [None, [], "x", 3, {"internal_states": None}, {"internal_states": [3]}, {3: 4}])
def test_server_info_of_any_shape(data: object) -> None:
    assert facts_from_server_info(data).server_args == {}


def test_server_info_goes_before_the_log() -> None:
    given = facts_from_server_info({"speculative_ddtree_budget": 32})
    both = together(given, Facts({"speculative_ddtree_budget": 15, "speculative_num_draft_tokens": 8}, block_size=8))
    assert [(item.expression, item.source) for item in explain(33, both)] == [
        ("speculative_ddtree_budget + 1 = 33", FROM_SERVER_INFO)
    ]
    assert ("speculative_num_draft_tokens = 8", FROM_LOG) in [(item.expression, item.source) for item in explain(8, both)]


def test_report_names_the_source() -> None:
    facts = facts_from_server_info(json.loads((CASE / "server_info.json").read_bytes()))
    log = [(CASE / "log.txt").read_bytes()]
    told, untold = (json.loads(triage_bytes(log, facts=one).to_json())["failures"][0] for one in (facts, None))
    assert {item["source"] for item in told["numbers"]} == {FROM_SERVER_INFO}
    assert (untold["kind"], untold["confidence"], untold["numbers"]) == ("graph_token_count_mismatch", "likely", [])
