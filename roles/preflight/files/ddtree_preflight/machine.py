"""The machine: memory, limits, kernel settings, a reboot that is waited for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .catalogue import finding
from .finding import ERROR, NOTE, WARNING, Finding, listed
from .host import Host
from .wanted import Wanted

FILES_WANTED = 1048576  # LimitNOFILE= of the unit
FILES_ENOUGH = 65536  # SGLang raises its soft limit to 65535 (utils/common.py, set_ulimit)
RANK_MIB = 4096  # host memory of one rank: Python, CUDA's context, pinned buffers
SHM_WANTED, SHM_LEAST = 8 << 30, 64 << 20  # 64 MiB is what containers get by default
_CAP_SYS_RESOURCE = 24  # capability.h
_SEGMENTS = ("nccl-", "psm_", "torch_", "sem.mp-", "sglang")


def check(want: Wanted, host: Host, *, serves: bool) -> Iterator[Finding]:
    """`serves`: one of our servers runs, so that segments in /dev/shm may be its own."""
    yield from _reboot(host)
    yield from _limits(want, host)
    yield from _memory(want, host)
    yield from _pages(host)
    yield from _kernel(host)
    yield from _shared_memory(want, host, serves=serves)
    if not in_container(host) and host.clock_is_kept() is False:
        yield finding("clock_sync", "nothing keeps the clock", "a time service", evidence=["adjtimex(2): STA_UNSYNC"])


def in_container(host: Host) -> bool:
    """A container has the clock and the kernel of the machine below it."""
    return bool(host.read("/run/systemd/container", 64))


def _reboot(host: Host) -> Iterator[Finding]:
    if host.exists("/run/reboot-required"):
        packages = host.read("/run/reboot-required.pkgs").split()
        found = "a reboot is waited for" + (f" by {listed(sorted(set(packages)), 5)}" if packages else "")
        yield finding("reboot_pending", found, "no reboot waited for", evidence=["/run/reboot-required exists"])


def _limits(want: Wanted, host: Host) -> Iterator[Finding]:
    """As the unit will have them: its own settings, cut to what PID 1 may give where that lacks CAP_SYS_RESOURCE."""
    usual = WARNING if want.compiles else NOTE  # NCCL comes with SGLang
    limits = host.read("/proc/1/limits")
    files, memory = (_hard(limits, name) for name in ("Max open files", "Max locked memory"))
    most = host.read("/proc/sys/fs/nr_open").strip()
    above = [int(most)] if most.isdigit() else []
    if not _may_raise(host) and files is not None:
        above.append(files)
    can = min(above, default=FILES_WANTED)
    if can < FILES_WANTED:
        severity = usual if can < FILES_ENOUGH else NOTE
        evidence = [f"/proc/sys/fs/nr_open: {most}", f"/proc/1/limits: Max open files {files}"]
        yield finding("ulimits", f"the unit can have {can} open files", str(FILES_WANTED), severity=severity, evidence=evidence)
    if not _may_raise(host) and memory is not None and memory < 1 << 40:
        evidence = [f"/proc/1/limits: Max locked memory {memory}"]
        yield finding("ulimits", f"the unit can pin {memory} bytes", "unlimited", severity=usual, evidence=evidence)


def _hard(limits: str, name: str) -> int | None:
    """The hard limit, proc_pid_limits(5); None for unlimited."""
    found = re.search(rf"^{name} +\S+ +([0-9]{{1,19}})\b", limits, re.MULTILINE)
    return int(found[1]) if found else None


def _may_raise(host: Host) -> bool:
    found = re.search(r"^CapEff:\s*([0-9a-f]{1,32})$", host.read("/proc/1/status"), re.MULTILINE)
    return found is None or bool(int(found[1], 16) >> _CAP_SYS_RESOURCE & 1)


def _memory(want: Wanted, host: Host) -> Iterator[Finding]:
    found = re.search(r"^MemAvailable:\s*([0-9]{1,15}) kB", host.read("/proc/meminfo"), re.MULTILINE)
    if not found or not want.gpus:
        return
    available = int(found[1]) >> 10
    evidence = [f"/proc/meminfo: {found[0]}"]
    ranks, weights = want.gpus.count * RANK_MIB, int(1.1 * (want.model_bytes or 0)) >> 20
    if want.compiles and available < ranks:
        text = f"{ranks} MiB for {want.gpus.count} ranks"
        why = "close what takes the host's memory: a rank that is killed ends the server"
        yield finding("host_ram_pagecache", f"{available} MiB free", text, severity=WARNING, fix=why, evidence=evidence)
    elif available < weights:
        yield finding("host_ram_pagecache", f"{available} MiB free", f"{weights} MiB, to keep the weights", evidence=evidence)


def _pages(host: Host) -> Iterator[Finding]:
    place = "/sys/kernel/mm/transparent_hugepage"
    enabled, defrag = (_chosen(host.read(f"{place}/{name}")) for name in ("enabled", "defrag"))
    if enabled == "never":
        yield finding("thp", "transparent huge pages are off", "madvise or always", evidence=[f"{place}/enabled: {enabled}"])
    if enabled == "always" and defrag == "always":
        evidence = [f"{place}/defrag: {defrag}"]
        yield finding("thp", "every page fault may wait for compaction", "defrag madvise", evidence=evidence)


def _chosen(text: str) -> str:
    found = re.search(r"\[([a-z+]{1,20})\]", text)
    return found[1] if found else ""


def _kernel(host: Host) -> Iterator[Finding]:
    wanted = {"/proc/sys/kernel/numa_balancing": "0", "/proc/sys/vm/swappiness": "0"}
    governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    for path, value in {**wanted, governor: "performance"}.items():
        found = host.read(path, 64).strip()
        if found and found != value:
            yield finding("cpu_numa", f"{path.rpartition('/')[2]} is {found}", value, evidence=[f"{path}: {found}"])


def _shared_memory(want: Wanted, host: Host, *, serves: bool) -> Iterator[Finding]:
    space = host.space("/dev/shm")
    several = want.gpus is not None and want.gpus.count > 1
    least = SHM_WANTED if want.compiles else SHM_LEAST
    if space is not None and several and not serves and space.free <= least:
        severity = ERROR if space.free <= SHM_LEAST else WARNING
        found = f"{space.free >> 20} MiB of {space.total >> 20} are free in /dev/shm"
        evidence = [f"statvfs /dev/shm: {space.free} of {space.total} bytes"]
        yield finding("dev_shm", found, f"{SHM_WANTED >> 20} MiB", severity=severity, evidence=evidence)
    if serves:
        return
    left = {name: host.size(f"/dev/shm/{name}") for name in host.names("/dev/shm") if name.startswith(_SEGMENTS)}
    sizes = {name: size[0] for name, size in left.items() if size}
    if sizes:
        total = sum(sizes.values())
        severity = WARNING if total > 1 << 30 or any(name.startswith("nccl-") for name in sizes) else NOTE
        found = f"{len(sizes)} segments with {total >> 20} MiB: {listed(sorted(sizes), 4)}"
        yield finding(
            "shm_leftovers", found, "none while no server runs", severity=severity, evidence=[f"ls /dev/shm: {min(sizes)}"]
        )
