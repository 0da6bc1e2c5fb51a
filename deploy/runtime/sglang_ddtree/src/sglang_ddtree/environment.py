"""The server process's environment: what server.json says, and where compiled kernels are kept."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from .server_config import ServerConfig

# A kernel compiled by another version of the stack can give NaN instead of an error, so each lock has its own caches.
_CACHES = {
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TORCH_EXTENSIONS_DIR": "torch-extensions",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "TVM_FFI_CACHE_DIR": "tvm-ffi",
    "CUTE_DSL_CACHE_DIR": "cute-dsl",
    "SGLANG_DG_CACHE_DIR": "deep-gemm",
    "DG_JIT_CACHE_DIR": "deep-gemm",
    "CUDA_CACHE_PATH": "cuda",
    "HF_MODULES_CACHE": "hf-modules",
}
# systemd's channel to the launcher is not the server's business: a library that finds it could report READY=1.
_NOT_PASSED_ON = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


def server_environment(config: ServerConfig, release: Path, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without secrets: `base` (this process's own), JIT caches, then what server.json says."""
    environment = dict(os.environ if base is None else base)
    for name in _NOT_PASSED_ON:
        environment.pop(name, None)
    for name, path in cache_directories(release, environment).items():
        environment.setdefault(name, path)
    # FlashInfer and tvm-ffi call the `ninja` that the lock brings by its name when they compile a kernel.
    environment["PATH"] = _first(f"{release.resolve()}/venv/bin", environment.get("PATH") or os.defpath)
    environment["PYTHONUNBUFFERED"] = "1"  # spawned ranks don't inherit `-u`
    # else a crashed server waits 60 s for a core dump that nobody asked for (SGLang 0.5.13, tokenizer_manager.py)
    environment.setdefault("SGLANG_CUDA_COREDUMP_BEFORE_CRASH", "0")
    environment.update(config.environment)
    return environment


def _first(folder: str, path: str) -> str:
    return ":".join((folder, *(one for one in path.split(":") if one != folder)))


def cache_directories(release: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Variable -> directory for every JIT compiler, below $CACHE_DIRECTORY/<stack>; nothing without that variable."""
    cache = environment.get("CACHE_DIRECTORY", "").split(":")[0]
    if not cache:
        return {}
    return {name: f"{cache}/{_stack(release)}/{folder}" for name, folder in _CACHES.items()}


def _stack(release: Path) -> str:
    """A short name of the installed stack: its lock's hash, or the release's name while there is no manifest."""
    try:
        lock = json.loads((release / "manifest.json").read_text(encoding="utf-8"))["lock_sha256"]
        return str(lock)[:12] or release.name
    except (OSError, ValueError, KeyError, TypeError):
        return release.name
