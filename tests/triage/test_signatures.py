"""Signatures at their borders: what is named, and what has to stay something else."""

from __future__ import annotations

import json

import pytest

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.failure import schema
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Failure, ServerArgs
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
        ("triton.OutOfResources: out of resource: shared memory", "x", Kind.TRITON_SHARED_MEMORY),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x6144 and 4096x2048)", "x", Kind.TENSOR_SHAPE_BUG),
        ("RuntimeError: Cannot find any model weights with `/srv/models/a`", "load_model", Kind.WEIGHTS_MISSING),
        ("OSError: [Errno 98] Address already in use", "x", Kind.PORT_IN_USE),
        ("ConnectionResetError: [Errno 104] Connection reset by peer", "x", Kind.UNKNOWN),
        ("RuntimeError: CUDA error: out of memory", "init_memory_pool", Kind.OOM_RUNTIME),
        (
            "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "event_loop_x",
            Kind.OOM_RUNTIME,
        ),
        ("RuntimeError: Decode out of memory. Try to lower your batch size.", "event_loop_x", Kind.KV_POOL_EXHAUSTED),
        ("RuntimeError: DFLASH draft OOM when allocating 64 block tokens.", "event_loop_x", Kind.KV_POOL_EXHAUSTED),
        (
            "AssertionError: Full Pool Mem Leak Detected! [full] total=8, available=7, evictable=0, protected=0",
            "x",
            Kind.KV_ACCOUNTING_BUG,
        ),
        ("ValueError: token_to_kv_pool_allocator memory leak detected! available_size=3", "x", Kind.KV_ACCOUNTING_BUG),
        (
            "ImportError: libcuda.so.1: cannot open shared object file: No such file or directory",
            "x",
            Kind.MISSING_SYSTEM_LIBRARY,
        ),
        ("OSError: libtorch_cuda.so: cannot open shared object file: No such file or directory", "x", Kind.TORCH_ABI_MISMATCH),
        ("ImportError: libnvrtc.so.12: cannot open shared object file: No such file or directory", "x", Kind.CUDA_MAJOR_MISMATCH),
        (
            "ImportError: /a/b.so: undefined symbol: __nvJitLinkCreate_12_8, version libnvJitLink.so.12",
            "x",
            Kind.CUDA_MAJOR_MISMATCH,
        ),
        ("RuntimeError: operator torchvision::nms does not exist", "x", Kind.TORCH_ABI_MISMATCH),
        ("ModuleNotFoundError: No module named 'flash_attn'", "x", Kind.MISSING_PYTHON_MODULE),
        ("KeyError: 'model.layers.3.mlp.gate.weight'", "load_weights", Kind.WEIGHTS_FORMAT_MISMATCH),
        ("KeyError: 'model.layers.3.mlp.gate.weight'", "event_loop_x", Kind.UNKNOWN),
        ("KeyError: 'rid'", "load_weights", Kind.UNKNOWN),
        ("AssertionError", "load_weights weight_loader", Kind.WEIGHTS_FORMAT_MISMATCH),
        ("AssertionError", "event_loop_x", Kind.UNKNOWN),
        ("ValueError: invalid literal for int() with base 10: 'a'", "x", Kind.UNKNOWN),
        ("RuntimeError: No available memory for the cache blocks.", "x", Kind.KV_POOL_TOO_SMALL),
        ("RuntimeError: shape '[8, 33]' is invalid for input of size 256", "x", Kind.TENSOR_SHAPE_BUG),
        (
            "ValueError: Total number of attention heads (52) must be divisible by tensor parallel size (8).",
            "x",
            Kind.UNSUPPORTED_ARGUMENT_COMBINATION,
        ),
        ("RuntimeError: SM 12.1+ requires CUDA >= 12.9", "x", Kind.TOOLCHAIN_TOO_OLD_FOR_GPU),
        ("RuntimeError: Could not find nvcc and default cuda_home='/usr/local/cuda' doesn't exist", "x", Kind.JIT_TOOLCHAIN_ENV),
        ("AttributeError: 'ServerArgs' object has no attribute 'speculative_ddtree_budget'", "x", Kind.PLUGIN_INTERFACE_MISMATCH),
        ("AttributeError: 'NoneType' object has no attribute 'shape'", "x", Kind.UNKNOWN),
    ],
)
def test_kind(exception: str, frames: str, kind: Kind) -> None:
    found = root_of(exception, frames, draft=False)
    assert found.kind is kind
    assert [item.gpu for item in found.devices] == ([3] if "GPU 3" in exception else [])
    if kind is Kind.UNKNOWN:
        assert (found.cause, found.fixes) == (None, ())


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
