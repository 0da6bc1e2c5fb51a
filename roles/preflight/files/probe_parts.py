"""The parts of the probe that may hang or die, each in a process that probe.py kills: `python probe_parts.py PART JSON`.

Each prints lines of JSON as it gets on: what it did before it hung is known. Needs the release's torch, Triton and SGLang.
"""

from __future__ import annotations

import datetime
import importlib
import json
import sys
import time
from typing import Any


def say(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


def versions(_: dict[str, Any]) -> None:
    """Versions of what a server imports first; an import that fails is a fact, too."""
    for name in ("torch", "sglang", "sgl_kernel"):
        try:
            module = importlib.import_module(name)
        except BaseException as error:
            say(**{f"{name}_error": f"{type(error).__name__}: {error}"[:300]})
            continue
        say(**{name: str(getattr(module, "__version__", "unknown"))})
        if name == "torch":
            about_torch(module)


def about_torch(torch: Any) -> None:
    count = torch.cuda.device_count()
    say(cuda=torch.version.cuda, gpus=count, nccl=".".join(map(str, torch.cuda.nccl.version())), archs=torch.cuda.get_arch_list())
    if count:
        say(capability=list(torch.cuda.get_device_capability(0)), device=torch.cuda.get_device_name(0))


def triton(_: dict[str, Any]) -> None:
    """y = x + 1 on one block; its source lies in a file because Triton reads it there."""
    import torch

    begun = time.monotonic()
    x = torch.arange(128, dtype=torch.float32, device="cuda")
    y = torch.empty_like(x)
    plus_one()[(1,)](x, y, BLOCK=128)
    torch.cuda.synchronize()
    say(right=bool((y == x + 1).all().item()), seconds=round(time.monotonic() - begun, 3))


def plus_one() -> Any:
    """A kernel looks its names up among its module's, not among those of a function around it."""
    global tl  # noqa: PLW0603
    import triton as compiler
    import triton.language as tl

    @compiler.jit
    def kernel(x, y, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        at = tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at) + 1)

    return kernel


def rank(want: dict[str, Any]) -> None:
    """One rank of an all-reduce: sizes in bytes, the right sum, and the second round's bus bandwidth in GB/s."""
    import torch
    import torch.distributed as dist

    number, ranks = want["rank"], want["ranks"]
    torch.cuda.set_device(number)
    limit = datetime.timedelta(seconds=want["seconds"])
    dist.init_process_group("nccl", init_method=f"file://{want['store']}", rank=number, world_size=ranks, timeout=limit)
    for size in want["sizes"]:
        tensor = torch.full((max(1, size // 4),), float(number + 1), device="cuda")
        dist.all_reduce(tensor)
        torch.cuda.synchronize()
        right = bool((tensor == ranks * (ranks + 1) / 2).all().item())
        begun = time.monotonic()
        dist.all_reduce(tensor)
        torch.cuda.synchronize()
        seconds = time.monotonic() - begun
        bandwidth = 2 * (ranks - 1) / ranks * size / seconds / 1e9
        say(bytes=size, right=right, microseconds=round(seconds * 1e6), gb_per_s=round(bandwidth, 2))
    dist.destroy_process_group()


if __name__ == "__main__":
    {"versions": versions, "triton": triton, "rank": rank}[sys.argv[1]](json.loads(sys.argv[2]))
