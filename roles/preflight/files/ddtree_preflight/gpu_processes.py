"""Who is on the GPUs besides our own server, and what they leave of the memory."""

from __future__ import annotations

from collections.abc import Iterator

from .catalogue import finding
from .finding import ERROR, WARNING, Finding, listed, one_line
from .gpu_health import SOURCE
from .host import Host
from .processes import Scan, command, is_orphan, is_ours
from .smi import Gpu, Process, Report
from .wanted import PCIE, Gpus

MOST_MIB = 2000
BUSY_PERCENT = 95
# Services of the driver that hold a context and no memory worth speaking of.
_HARMLESS = ("nvidia-persistenced", "nvidia-cuda-mps", "nv-hostengine", "dcgm", "nvidia-smi")


def check(want: Gpus | None, report: Report, scan: Scan | None, host: Host) -> Iterator[Finding]:
    """Memory, other processes, orphans, GPUs that are busy with nothing."""
    strangers: dict[int, tuple[Process, list[int]]] = {}
    for gpu in report.gpus:
        others = [one for one in gpu.processes if one.pid and not _belongs(one, host)]
        for one in others:
            strangers.setdefault(one.pid, (one, []))[1].append(gpu.index)
        yield from _memory(gpu, others, host)
        yield from _ghost(want, gpu)
    orphans = {pid for pid, above, _ in scan.ranks if not is_ours(host, pid) and is_orphan(host, above)} if scan else set()
    for pid, (one, indexes) in strangers.items():
        if pid not in orphans:
            found = f"pid {pid} ({_named(one, host)}) is on GPU {listed([str(index) for index in indexes])}"
            yield finding("gpu_processes", found, "only our server's", evidence=[f"{SOURCE}: process_info pid {pid}"])
    yield from _orphans(orphans, strangers, host)


def _belongs(one: Process, host: Host) -> bool:
    return is_ours(host, one.pid) or any(name in one.name for name in _HARMLESS)


def _named(one: Process, host: Host) -> str:
    return one_line(command(host, one.pid) or one.name, 100)


def _memory(gpu: Gpu, others: list[Process], host: Host) -> Iterator[Finding]:
    used = gpu.number("fb_memory_usage/used")
    if used is None:
        return
    ours = [one for one in gpu.processes if is_ours(host, one.pid)]
    # A container doesn't say how much: then our own server explains it.
    if any(one.mib is None for one in ours):
        return
    left = used - sum(one.mib or 0 for one in ours)
    if left < MOST_MIB:
        return
    holders = listed([f"pid {one.pid} ({_named(one, host)}) with {one.mib} MiB" for one in others])
    found = f"{left:.0f} MiB of {gpu.label} are in use by {holders or 'no process that can be seen'}"
    evidence = [f"{SOURCE}: {gpu.bus} fb_memory_usage/used {used:.0f} MiB"]
    yield finding("gpu_memory_free", found, f"less than {MOST_MIB} MiB", evidence=evidence)


def _ghost(want: Gpus | None, gpu: Gpu) -> Iterator[Finding]:
    load = gpu.number("utilization/gpu_util")
    if want and want.interconnect == PCIE and load is not None and load >= BUSY_PERCENT and not gpu.processes:
        draw = gpu.text("gpu_power_readings/instant_power_draw") or gpu.text("gpu_power_readings/average_power_draw")
        found = f"{gpu.label} is {load:.0f} % busy at {draw or 'unknown power'}, and no process is on it"
        yield finding("gpu_ghost_busy", found, "idle", evidence=[f"{SOURCE}: {gpu.bus} gpu_util {load:.0f} %"])


def _orphans(orphans: set[int], on_gpus: dict[int, tuple[Process, list[int]]], host: Host) -> Iterator[Finding]:
    for pid in sorted(orphans):
        holds = pid in on_gpus
        found = f"pid {pid} ({command(host, pid)}) is left of a server that is gone" + (", and holds a GPU" if holds else "")
        yield finding(
            "sglang_orphans",
            found,
            "no `sglang::` process outside of our units without a parent",
            severity=ERROR if holds else WARNING,
            fix=f"end it: kill -9 {pid}",
            evidence=[f"/proc/{pid}/cmdline: {command(host, pid)}"],
        )
