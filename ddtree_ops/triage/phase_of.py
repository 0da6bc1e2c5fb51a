"""In which phase of its life the server was when it failed."""

from __future__ import annotations

from ddtree_ops.triage.block import Block
from ddtree_ops.triage.model import FailurePhase

_BY_FUNCTION = {
    "prepare_server_args": FailurePhase.ARGUMENTS,
    "from_cli_args": FailurePhase.ARGUMENTS,
    "init_torch_distributed": FailurePhase.DISTRIBUTED_INIT,
    "load_model": FailurePhase.WEIGHTS,
    "load_weights": FailurePhase.WEIGHTS,
    "create_weights": FailurePhase.WEIGHTS,
    "_prepare_weights": FailurePhase.WEIGHTS,
    "init_memory_pool": FailurePhase.KV_CACHE,
    "init_cuda_graphs": FailurePhase.GRAPH_CAPTURE,
    "init_device_graphs": FailurePhase.GRAPH_CAPTURE,
    "capture_one_batch_size": FailurePhase.GRAPH_CAPTURE,
}
_RUNNING = (FailurePhase.WARMUP, FailurePhase.SERVING, FailurePhase.SHUTDOWN)


def phase_of(block: Block, followed: FailurePhase) -> FailurePhase:
    """The phase by the stack where it is plain, else the one that the log was in (`followed`).

    An event loop on the stack means that the server was up, whatever else is called below it.
    """
    functions = [frame.function or "" for item in block.exceptions for frame in item.frames]
    if any(name.startswith("event_loop_") for name in functions):
        return followed if followed in _RUNNING else FailurePhase.SERVING
    for name in reversed(functions):
        if name in _BY_FUNCTION:
            return _BY_FUNCTION[name]
    return followed
