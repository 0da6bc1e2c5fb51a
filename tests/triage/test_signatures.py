"""Signatures at their borders: what is named, and what has to stay something else."""

from __future__ import annotations

import json

import pytest

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.failure import schema
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Failure, ServerArgs
from ddtree_ops.triage.numbers import Facts, explain, is_width
from ddtree_ops.triage.server_args import parse_server_args
from tests.triage.journals import plain, recorded

ARGS: ServerArgs = {
    "speculative_num_draft_tokens": 8,
    "speculative_ddtree_budget": 32,
    "speculative_ddtree_budget_schedule": {1: 31, 8: 23},
    "tp_size": 4,
    "cuda_graph_max_bs": 16,
    "max_running_requests": 8,
}


def root_of(exception: str, frames: str = "replay fill_from", *, args: ServerArgs | None = None, draft: bool = True) -> Failure:
    folder = "speculative" if draft else "model_executor"
    stack = "\n".join(f'  File "/opt/s/sglang/srt/{folder}/cuda_graph_x.py", line 1, in {name}' for name in frames.split())
    printed = ", ".join(f"{name}={value!r}" for name, value in (args or {}).items())
    text = f"[2026-04-02 03:04:02] server_args=ServerArgs({printed})\n" if args else ""
    text += f"[2026-04-02 03:04:05 TP1] Scheduler hit an exception: Traceback (most recent call last):\n{stack}\n{exception}\n"
    root = triage_entries(plain(text)).root
    assert root is not None
    return root


def sizes(a: int, b: int, dimension: int = 0) -> str:
    return (
        f"RuntimeError: The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dimension}"
    )


@pytest.mark.parametrize(
    ("exception", "frames", "kind"),
    [
        (sizes(8, 33), "replay fill_from", Kind.GRAPH_TOKEN_COUNT_MISMATCH),
        (sizes(32, 132), "replay_prepare", Kind.GRAPH_TOKEN_COUNT_MISMATCH),
        (sizes(8, 24), "fill_from", Kind.GRAPH_TOKEN_COUNT_MISMATCH),
        (sizes(7, 5), "fill_from", Kind.TENSOR_SHAPE_BUG),  # no width of this configuration
        (sizes(8, 33, 1), "fill_from", Kind.TENSOR_SHAPE_BUG),  # not the tokens' dimension
        (sizes(8, 33), "forward", Kind.TENSOR_SHAPE_BUG),  # no graph is filled
    ],
)
def test_graph_width_needs_graph_dimension_and_width(exception: str, frames: str, kind: Kind) -> None:
    assert root_of(exception, frames, args=ARGS).kind is kind


def test_graph_width_without_arguments_is_only_likely() -> None:
    assert root_of(sizes(8, 33)).confidence.value == "likely"
    assert root_of(sizes(8, 33)).numbers == ()
    assert root_of(sizes(8, 33), draft=False).kind is Kind.TENSOR_SHAPE_BUG


@pytest.mark.parametrize(
    ("exception", "frames", "kind"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 3 has", "load_model x", Kind.OOM_WEIGHTS),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.10 GiB. GPU 3 has",
            "event_loop_normal",
            Kind.OOM_RUNTIME,
        ),
        ("Exception: Capture cuda graph failed: CUDA out of memory. GPU 3 has", "x", Kind.OOM_GRAPH_CAPTURE),
        ("ValueError: there are other ranks that didn't finish loading, e.g. OOM", "load_model", Kind.PEER_RANK_FAILED),
        ("triton.OutOfResources: out of resource: shared memory", "x", Kind.UNKNOWN),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x6144 and 4096x2048)", "x", Kind.UNKNOWN),
        ("RuntimeError: Cannot find any model weights with `/srv/models/a`", "load_model", Kind.WEIGHTS_MISSING),
        ("OSError: [Errno 98] Address already in use", "x", Kind.PORT_IN_USE),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "x", Kind.UNKNOWN),
    ],
)
def test_kind(exception: str, frames: str, kind: Kind) -> None:
    found = root_of(exception, frames, draft=False)
    assert found.kind is kind
    assert [item.gpu for item in found.devices] == ([3] if "GPU 3" in exception else [])
    if kind is Kind.UNKNOWN:
        assert (found.cause, found.fixes) == (None, ())


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


def test_recorded_server_args() -> None:
    line = next(entry.message for entry in recorded("tp2_ddtree_shape") if "server_args=" in entry.message)
    args = parse_server_args(line.replace("api_key=None", "api_key='sk-1'"))
    assert args is not None
    assert (args["tp_size"], args["mem_fraction_static"], args["cuda_graph_bs"]) == (2, 0.2, [1, 2, 3, 4])
    assert not any("api_key" in name for name in args)
    assert len(args) > 300
    cut = parse_server_args(line[:-200])
    assert cut is not None and (cut["tp_size"], cut["model_path"]) == (2, "/models/tiny/target")
    assert parse_server_args("nothing") is None


def test_kinds_are_the_schemas() -> None:
    kinds = schema()["properties"]["failures"]["items"]["properties"]["kind"]["enum"]
    assert sorted(item.value for item in Kind) == sorted(kinds)


def test_no_secret_gets_into_a_report() -> None:
    entries = [
        entry._replace(message=entry.message.replace("api_key=None", "api_key='sk-1'")) for entry in recorded("tp2_rank1_raise")
    ]
    assert any("sk-1" in entry.message for entry in entries)
    assert "sk-1" not in json.dumps(triage_entries(entries).to_data())


def test_garbage_is_told_by_the_launcher_alone() -> None:
    said = "/generate: garbage: only '!' over and over"
    root = triage_entries(plain(f"ddtree launcher: crashed: {said} (exit 70)\n")).root
    assert root is not None
    assert root.kind is Kind.GARBAGE_OUTPUT
    assert "only '!'" in root.title
    assert triage_entries(plain(f"[2026-04-02 03:04:05] Receive: text='ddtree launcher: crashed: {said}'\n")).root is None
