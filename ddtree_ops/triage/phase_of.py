"""In which phase of its life the server was when it failed."""

from __future__ import annotations

from ddtree_ops.triage.block import Block, Frame
from ddtree_ops.triage.model import FailurePhase

#: Functions of SGLang 0.4 to 0.5.13 and vLLM 0.6 to 0.11 within which a phase happens.
_BY_FUNCTION = {
    "prepare_server_args": FailurePhase.ARGUMENTS,
    "from_cli_args": FailurePhase.ARGUMENTS,
    "check_server_args": FailurePhase.ARGUMENTS,
    "create_engine_config": FailurePhase.ARGUMENTS,
    "init_torch_distributed": FailurePhase.DISTRIBUTED_INIT,
    "init_distributed_environment": FailurePhase.DISTRIBUTED_INIT,
    "init_device": FailurePhase.DISTRIBUTED_INIT,
    "load_model": FailurePhase.WEIGHTS,
    "load_weights": FailurePhase.WEIGHTS,
    "create_weights": FailurePhase.WEIGHTS,
    "process_weights_after_loading": FailurePhase.WEIGHTS,
    "_prepare_weights": FailurePhase.WEIGHTS,
    "init_memory_pool": FailurePhase.KV_CACHE,
    "alloc_memory_pool": FailurePhase.KV_CACHE,
    "_initialize_kv_caches": FailurePhase.KV_CACHE,
    "determine_available_memory": FailurePhase.KV_CACHE,
    "init_cuda_graphs": FailurePhase.GRAPH_CAPTURE,
    "init_device_graphs": FailurePhase.GRAPH_CAPTURE,
    "init_decode_cuda_graph": FailurePhase.GRAPH_CAPTURE,
    "init_piecewise_cuda_graphs": FailurePhase.GRAPH_CAPTURE,
    "capture_one_batch_size": FailurePhase.GRAPH_CAPTURE,
    "capture_model": FailurePhase.GRAPH_CAPTURE,
}
_CAPTURING = frozenset({"capture", "__init__"})
_RUNNING = (FailurePhase.WARMUP, FailurePhase.SERVING, FailurePhase.SHUTDOWN)


def phase_of(block: Block, followed: FailurePhase) -> FailurePhase:
    """The phase by the stack where it is plain, else the one that the log was in (`followed`).

    An event loop on the stack means that the server was up, whatever else is called below it.
    """
    frames = [frame for item in block.placed for frame in item.frames]
    if any((frame.function or "").startswith("event_loop_") for frame in frames):
        return followed if followed in _RUNNING else FailurePhase.SERVING
    for frame in reversed(frames):
        phase = _phase_in(frame)
        if phase:
            return phase
    return followed


def _phase_in(frame: Frame) -> FailurePhase | None:
    name = frame.function or ""
    if name in _BY_FUNCTION:
        return _BY_FUNCTION[name]
    if name in _CAPTURING and "graph_runner" in frame.file.rsplit("/", 1)[-1]:
        return FailurePhase.GRAPH_CAPTURE
    if frame.file.endswith("/srt/server_args.py") and name == "__post_init__":
        return FailurePhase.ARGUMENTS
    return None
