"""Known failures, one file each. To add one: a file with its `SIGNATURE`, a line in `SIGNATURES`, a case folder.

The order is the order of asking: the more special first. What none of them knows stays `unknown`.
"""

from __future__ import annotations

from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.signatures import (
    ansible_failed,
    container_end,
    cuda_illegal_access,
    cuda_major_mismatch,
    device_assert,
    disk_full,
    draft_model_mismatch,
    elastic_failure,
    engine_dead_secondary,
    exec_permission,
    fabric_manager,
    fabric_not_ready,
    garbage_output,
    gpu_busy,
    gpu_errors,
    gpu_xid,
    graph_token_count_mismatch,
    hf_auth,
    host_memory,
    host_oom,
    jit_toolchain_env,
    kernel_fault,
    kv_accounting_bug,
    kv_pool_exhausted,
    kv_pool_too_small,
    missing_python_module,
    missing_system_library,
    native_segfault,
    nccl_init_hang,
    nccl_shm,
    nccl_system_error,
    nccl_timeout,
    no_kernel_image,
    not_writable,
    oom,
    peer_rank_failed,
    plugin_interface_mismatch,
    port_in_use,
    remote_code_missing,
    remote_python_missing,
    request_error,
    scheduler_hang,
    shell_killed,
    sigkill_unknown,
    ssh_auth,
    ssh_client,
    ssh_connection,
    ssh_host_key,
    sudo_prompt,
    systemd_result,
    systemd_step,
    systemd_times,
    tensor_shape_bug,
    toolchain_too_old_for_gpu,
    torch_abi_mismatch,
    transformers_too_old,
    triton_shared_memory,
    trust_remote_code_needed,
    unknown_argument,
    unsupported_argument_combination,
    weights_corrupt,
    weights_format_mismatch,
    weights_missing,
)
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through
from ddtree_ops.triage.signatures.runtimes import in_its_words

__all__ = ["LITERALS", "SIGNATURES", "Context", "Signature", "match", "match_line", "match_words", "passes_through"]

SIGNATURES: tuple[Signature, ...] = (
    host_oom.SIGNATURE,
    host_memory.SIGNATURE,
    gpu_xid.SIGNATURE,
    gpu_errors.SIGNATURE,
    systemd_step.SIGNATURE,
    systemd_times.SIGNATURE,
    ssh_host_key.SIGNATURE,
    ssh_client.SIGNATURE,
    ssh_auth.SIGNATURE,
    ssh_connection.SIGNATURE,
    remote_python_missing.SIGNATURE,
    sudo_prompt.SIGNATURE,
    container_end.SIGNATURE,
    fabric_manager.SIGNATURE,
    engine_dead_secondary.SIGNATURE,
    request_error.SIGNATURE,
    elastic_failure.SIGNATURE,
    nccl_shm.SIGNATURE,
    disk_full.SIGNATURE,
    exec_permission.SIGNATURE,
    not_writable.SIGNATURE,
    kernel_fault.SIGNATURE,
    device_assert.SIGNATURE,
    cuda_illegal_access.SIGNATURE,
    no_kernel_image.SIGNATURE,
    fabric_not_ready.SIGNATURE,
    nccl_timeout.SIGNATURE,
    nccl_init_hang.SIGNATURE,
    peer_rank_failed.SIGNATURE,
    nccl_system_error.SIGNATURE,
    scheduler_hang.SIGNATURE,
    native_segfault.SIGNATURE,
    shell_killed.SIGNATURE,
    graph_token_count_mismatch.SIGNATURE,
    trust_remote_code_needed.SIGNATURE,
    draft_model_mismatch.SIGNATURE,
    kv_accounting_bug.SIGNATURE,
    kv_pool_exhausted.SIGNATURE,
    kv_pool_too_small.SIGNATURE,
    gpu_busy.SIGNATURE,
    triton_shared_memory.SIGNATURE,
    oom.SIGNATURE,
    plugin_interface_mismatch.SIGNATURE,
    cuda_major_mismatch.SIGNATURE,
    torch_abi_mismatch.SIGNATURE,
    missing_system_library.SIGNATURE,
    toolchain_too_old_for_gpu.SIGNATURE,
    jit_toolchain_env.SIGNATURE,
    transformers_too_old.SIGNATURE,
    unknown_argument.SIGNATURE,
    port_in_use.SIGNATURE,
    remote_code_missing.SIGNATURE,
    hf_auth.SIGNATURE,
    weights_corrupt.SIGNATURE,
    weights_missing.SIGNATURE,
    weights_format_mismatch.SIGNATURE,
    unsupported_argument_combination.SIGNATURE,
    missing_python_module.SIGNATURE,
    garbage_output.SIGNATURE,
    tensor_shape_bug.SIGNATURE,
    systemd_result.SIGNATURE,
    sigkill_unknown.SIGNATURE,
    ansible_failed.SIGNATURE,
)

#: What the lines that a signature knows by themselves have in them.
LITERALS = tuple(dict.fromkeys(literal for signature in SIGNATURES for literal in signature.literals))

_OF_BLOCKS = tuple(item.match for item in SIGNATURES if item.match)
_OF_LINES = tuple((item.literals, item.match_line) for item in SIGNATURES if item.match_line)
_OF_WORDS = tuple(item.match_words for item in SIGNATURES if item.match_words)


def match(context: Context) -> Finding | None:
    """The finding of the first signature that knows this block, or None."""
    found = next((finding for one in _OF_BLOCKS if (finding := one(context))), None)
    return in_its_words(context, found) if found else None


def match_line(text: str) -> Finding | None:
    """The finding for a line by itself, or None."""
    for literals, one in _OF_LINES:
        if any(literal in text for literal in literals):
            finding = one(text)
            if finding:
                return finding
    return None


def match_words(reason: str) -> Finding | None:
    """The finding for the reason in the launcher's last words, or None."""
    return next((finding for one in _OF_WORDS if (finding := one(reason))), None)
