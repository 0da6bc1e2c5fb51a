"""The memory of the GPU that a rank would use, and where the lab's nvidia-smi finds it."""

from __future__ import annotations

import os

STATE_DIRECTORY = "/run/ddtree-lab/gpu"  # of the lab's host; absent elsewhere
CONTEXT_GB = 0.5  # what a CUDA context and NCCL's buffers take


class OutOfMemoryError(RuntimeError):
    """Shown as torch's own."""


OutOfMemoryError.__module__ = "torch"


class GpuMemory:
    """Used memory of one rank's GPU, in GB of 2**30 bytes."""

    def __init__(self, rank: int, total_gb: float) -> None:
        self.rank = rank
        self.total = total_gb
        self.used = 0.0

    @property
    def available(self) -> float:
        """Free memory in GB."""
        return self.total - self.used

    def allocate(self, size_gb: float) -> None:
        """Take memory. Raises OutOfMemoryError in torch's words when there isn't that much."""
        if size_gb > self.available:
            raise self.out_of_memory(size_gb)
        self.used += size_gb
        self._publish()

    def out_of_memory(self, size_gb: float) -> OutOfMemoryError:
        """The error of a failed allocation."""
        free = max(min(self.available, size_gb - 0.25), 0.02)
        used = self.total - free
        return OutOfMemoryError(
            f"CUDA out of memory. Tried to allocate {size_gb:.2f} GiB. GPU {self.rank} has a total capacity of "
            f"{self.total:.2f} GiB of which {free:.2f} GiB is free. Including non-PyTorch memory, this process has "
            f"{used:.2f} GiB memory in use. Of the allocated memory {max(used - 1, 0):.2f} GiB is allocated by PyTorch, "
            "and 120.50 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try "
            "setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for "
            "Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
        )

    def _publish(self) -> None:
        """`pid mib` into the lab's state; whoever reads it drops the entry once the process is gone."""
        path = f"{STATE_DIRECTORY}/{self.rank}.used_mib"
        try:
            with open(f"{path}.new", "w", encoding="ascii") as file:  # noqa: PTH123
                os.fchmod(file.fileno(), 0o644)  # any user's nvidia-smi tells it, whatever the service's umask
                file.write(f"{os.getpid()} {int(self.used * 1024)}\n")
            os.replace(f"{path}.new", path)  # noqa: PTH105
        except OSError:
            return
