"""The id of every finding that `plan` and `deploy` can have, so that a misspelt waiver is a mistake and not a surprise later.

A test holds this list against the checks themselves.
"""

from __future__ import annotations

_GPUS = (
    *("gpus", "gpu_sibling", "gpu_query", "driver_cuda13", "open_module", "mig_off", "persistence", "power_limit"),
    *("power_cap_throttle", "gpu_recovery_action", "gpu_ecc", "row_remap", "ecc_mode", "gpu_memory_free", "gpu_processes"),
    *("gpu_ghost_busy", "sglang_orphans", "p2p_status", "nvlink_up", "fabric_state", "fabric_manager", "interconnect"),
    *("pcie_link", "bar1", "hmm_uvm", "p2p_functional"),
)
_MACHINE = (
    *("python", "systemd", "port", "clock", "clock_sync", "reboot_pending", "disk", "inodes", "disk_free_fs", "dev_shm"),
    *("shm_leftovers", "ulimits", "host_ram_pagecache", "thp", "cpu_numa", "oom_kill", "xid_since_boot", "iommu_mode"),
    *("acs_redirect", "pcie_aer", "pcie_pm", "direct_attach_staging", "preflight"),
)
_STACK = (
    *("jit_toolchain", "ptxas_arch", "glibc_rsqrt", "kernel_wheel", "sglang_version", "nccl_version"),
    *("remote_code_symlinks", "hf_modules_writable", "jit_cache_dirs", "probe", "probe_not_run"),
)
_RELEASES = ("release_damaged", "dead_man", "state", "leftover", "waiver_unused")
_RUNTIME = (
    *("token_width_mismatch", "token_widths_unknown", "algorithm_missing", "algorithm_registered_twice", "budget_ignored"),
    *("tree_page_size", "tree_mask_backend", "source_unread"),
)
_ARGUMENTS = (
    *("arguments_unknown", "unknown_argument", "ambiguous_argument", "wrong_type", "not_a_choice", "missing_value"),
    *("unexpected_value", "missing_argument", "deprecated_argument", "repeated_argument"),
    *("unknown_environment", "deprecated_environment", "wrong_environment_value"),
)
_MODELS = (
    *("model", "model_config_unknown", "context_length", "tp_heads", "tp_kv_heads", "quantization_hardware"),
    *("quantization_mismatch", "draft_not_dflash", "draft_block_size", "draft_hidden_size", "draft_vocabulary"),
    *("draft_target_layers", "draft_layer_ids", "draft_mask_token", "draft_context"),
    *("memory_does_not_fit", "memory_pool_small", "memory_tight", "memory_estimate", "memory_unknown"),
)
KNOWN = frozenset((*_GPUS, *_MACHINE, *_STACK, *_RELEASES, *_RUNTIME, *_ARGUMENTS, *_MODELS))
