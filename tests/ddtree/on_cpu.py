"""torch, Triton and SGLang for the tests that need them: real ones, on a CPU, put in place by `make torch`."""

from __future__ import annotations

import functools
import importlib
import os
import sys
from types import ModuleType
from typing import Any

import pytest

HAS_VARIABLE = "DDTREE_TORCH_HAS"
"""What `make torch` has installed, as words. Of these a failed import is an error; of others it is a skip."""


def needs(*modules: str) -> ModuleType:
    """Import all of `modules` (call it before importing the plugin's own); returns the last one."""
    found: Any = None
    for name in modules:
        if name.partition(".")[0] in os.environ.get(HAS_VARIABLE, "").split():
            found = importlib.import_module(name)
        else:
            found = pytest.importorskip(name, reason=f"{name} isn't installed here; `make torch` brings it where it can")
        _after_import(name)
    module: ModuleType = found
    return module


def _after_import(name: str) -> None:
    if name != "torch":
        return
    torch: Any = sys.modules["torch"]
    if not hasattr(torch.Tensor, "untyped_storage"):  # torch 1.13 (Debian 12) has it under another name; Triton asks for this one
        torch.Tensor.untyped_storage = lambda tensor: tensor.storage().untyped()
    _ignore_operators_of_torchvision(torch)
    sys.modules.setdefault("sgl_kernel", _CudaKernels("sgl_kernel"))


def _ignore_operators_of_torchvision(torch: Any) -> None:
    """torchvision is built for torch with CUDA: beside a CPU build its operators don't load. Nothing here uses them."""
    register = getattr(torch.library, "register_fake", None)
    if register is None or hasattr(register, "__wrapped__"):
        return

    @functools.wraps(register)
    def tolerant(name: Any, *rest: Any, **options: Any) -> Any:
        if isinstance(name, str) and name.startswith("torchvision::"):
            return lambda function: function
        return register(name, *rest, **options)

    torch.library.register_fake = tolerant


class _CudaKernels(ModuleType):
    """SGLang's CUDA kernels, which exist only on a GPU: importing one works, calling it fails."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def unavailable(*_: object, **__: object) -> None:
            raise RuntimeError(f"sgl_kernel.{name} needs a GPU")

        return unavailable
