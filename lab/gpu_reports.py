"""The forms of the stand-in nvidia-smi that people read: -L, -q, topo, nvlink and the plain table.

Reduced to what deployments look at; what is printed stands where and how NVIDIA's program (580) prints it.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Final

from gpu_state import Gpu, Host

NVLINK_5_LANE_GBPS: Final = 53.125  # one direction of one NVLink 5 link, as `nvlink -s` prints it
Block = tuple[str, str, tuple[tuple[int, str, str | None], ...]]  # -d section, title, lines of (indent, name, value)


def list_gpus(gpus: Sequence[Gpu]) -> Iterator[str]:
    for gpu in gpus:
        yield f"GPU {gpu.index}: {gpu.fields['name']} (UUID: {gpu.fields['uuid']})"


def log(host: Host, gpus: Sequence[Gpu], sections: frozenset[str] | None) -> Iterator[str]:
    """`-q`, or only the sections of `-d`."""
    yield "\n==============NVSMI LOG==============\n"
    yield line(0, "Timestamp", f"{datetime.datetime.now():%a %b %e %H:%M:%S %Y}")
    yield line(0, "Driver Version", host.facts["driver_version"])
    yield line(0, "CUDA Version", host.facts["cuda_version"]) + "\n"
    yield line(0, "Attached GPUs", str(len(host.gpus)))
    for gpu in gpus:
        yield f"GPU {gpu.fields['pci.bus_id']}"
        for section, title, lines in blocks(host, gpu):
            if sections is None or section in sections:
                if title:
                    yield line(1, title, None)
                yield from (line(indent, name, value) for indent, name, value in lines)
        yield ""


def line(indent: int, name: str, value: str | None) -> str:
    text = " " * 4 * indent + name
    return text if value is None else f"{text:<42}: {value}"


def blocks(host: Host, gpu: Gpu) -> Iterator[Block]:
    f = gpu.fields
    yield "", "", ((1, "Product Name", f["name"]), (1, "Product Architecture", "Blackwell"))
    yield "", "", ((1, "Persistence Mode", f["persistence_mode"]), (1, "Addressing Mode", f["addressing_mode"]))
    yield "", "MIG Mode", ((2, "Current", f["mig.mode.current"]), (2, "Pending", f["mig.mode.current"]))
    yield "", "", ((1, "GPU UUID", f["uuid"]), (1, "GPU Recovery Action", f["gpu_recovery_action"]))
    yield "", "PCI", tuple(pci_lines(gpu))
    yield "", "Fabric", ((2, "State", plain(f["fabric.state"])), (2, "Status", plain(f["fabric.status"])))
    slowdown, brake = f["clocks_event_reasons.hw_slowdown"], f["clocks_event_reasons.hw_power_brake_slowdown"]
    yield "PERFORMANCE", "", ((1, "Performance State", f["pstate"]),)
    yield "PERFORMANCE", "Clocks Event Reasons", ((2, "HW Slowdown", slowdown), (3, "HW Power Brake Slowdown", brake))
    memory = ((2, name, f"{f[key]} MiB") for name, key in MEMORY)
    yield "MEMORY", "FB Memory Usage", tuple(memory)
    yield "MEMORY", "BAR1 Memory Usage", ((2, "Total", f"{host.facts['bar1_mib']} MiB"),)
    yield "ECC", "ECC Mode", ((2, "Current", f["ecc.mode.current"]), (2, "Pending", f["ecc.mode.current"]))
    yield "ECC", "ECC Errors", tuple(ecc_lines(gpu))
    yield "TEMPERATURE", "Temperature", ((2, "GPU Current Temp", f"{f['temperature.gpu']} C"),)
    power = ((2, "Instantaneous Power Draw", f["power.draw"]), (2, "Current Power Limit", f["power.limit"]))
    yield "POWER", "GPU Power Readings", tuple((indent, name, f"{value} W") for indent, name, value in power)
    yield "PIDS", "", tuple(process_lines(host, gpu))


MEMORY: Final = (("Total", "memory.total"), ("Used", "memory.used"), ("Free", "memory.free"))


def plain(value: str) -> str:
    return value.strip("[]")  # -q says N/A where csv says [N/A]


def pci_lines(gpu: Gpu) -> Iterator[tuple[int, str, str | None]]:
    f = gpu.fields
    yield 2, "Device Id", f["pci.device_id"]
    yield 2, "Bus Id", f["pci.bus_id"]
    yield 2, "GPU Link Info", None
    yield 3, "PCIe Generation", None
    yield 4, "Max", f["pcie.link.gen.max"]
    yield 4, "Current", f["pcie.link.gen.current"]
    yield 3, "Link Width", None
    yield 4, "Max", f["pcie.link.width.max"] + "x"
    yield 4, "Current", f["pcie.link.width.current"] + "x"


def ecc_lines(gpu: Gpu) -> Iterator[tuple[int, str, str | None]]:
    yield 2, "Volatile", None
    yield 3, "DRAM Correctable", gpu.fields["ecc.errors.corrected.volatile.total"]
    yield 3, "DRAM Uncorrectable", gpu.fields["ecc.errors.uncorrected.volatile.total"]


def process_lines(host: Host, gpu: Gpu) -> Iterator[tuple[int, str, str | None]]:
    processes = [process for process in host.processes if process.gpu == gpu.index]
    yield 1, "Processes", None if processes else "None"
    for process in processes:
        yield 2, "Process ID", str(process.pid)
        yield 3, "Type", "C"
        yield 3, "Name", process.name
        yield 3, "Used GPU Memory", f"{process.mib} MiB"


def numa_node(host: Host, gpu: Gpu) -> int:
    return gpu.index * int(host.facts["numa_nodes"]) // int(host.facts["count"])


def connection(host: Host, a: Gpu, b: Gpu) -> str:
    if a.index == b.index:
        return "X"
    changed = cell(host.topology, a, b)
    if changed:
        return changed
    if host.facts["interconnect"] != "pcie":
        return str(host.facts["interconnect"])
    return "NODE" if numa_node(host, a) == numa_node(host, b) else "SYS"


def cell(changes: dict[str, str], a: Gpu, b: Gpu) -> str | None:
    return changes.get(f"{a.index}-{b.index}") or changes.get(f"{b.index}-{a.index}")


def topology(host: Host) -> Iterator[str]:
    """`topo -m`."""
    yield "\t".join(["", *(f"GPU{gpu.index}" for gpu in host.gpus), "NUMA Affinity", "GPU NUMA ID"])
    for gpu in host.gpus:
        cells = [connection(host, gpu, other).center(3) for other in host.gpus]
        yield "\t".join([f"GPU{gpu.index}", *cells, str(numa_node(host, gpu)), "N/A"])
    yield "\nLegend:\n"
    yield "  X    = Self"
    yield "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)"
    yield "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node"
    yield "  NV#  = Connection traversing a bonded set of # NVLinks"


def peer_access(host: Host) -> Iterator[str]:
    """`topo -p2p r` and `w`."""
    yield " \t" + "\t".join(f"GPU{gpu.index}" for gpu in host.gpus)
    for gpu in host.gpus:
        cells = ("X" if other is gpu else cell(host.peers, gpu, other) or "OK" for other in host.gpus)
        yield "\t".join([f" GPU{gpu.index}", *cells])
    yield "\nLegend:\n"
    yield "  X    = Self"
    yield "  OK   = Status Ok"
    yield "  CNS  = Chipset not supported"
    yield "  NS   = Not supported"
    yield "  U    = Unknown"


def nvlinks(host: Host, gpus: Sequence[Gpu]) -> Iterator[str]:
    """`nvlink -s`: nothing below the name of a GPU that has none."""
    links = int(host.facts["interconnect"][2:]) if host.facts["interconnect"].startswith("NV") else 0
    for gpu, title in zip(gpus, list_gpus(gpus), strict=True):
        yield title
        yield from (f"\t Link {n}: {gpu.fields.get(f'nvlink.{n}', f'{NVLINK_5_LANE_GBPS:g} GB/s')}" for n in range(links))


def table(host: Host, gpus: Sequence[Gpu]) -> Iterator[str]:
    """The program without arguments: one row a GPU."""
    facts = host.facts
    rule = "+" + "-" * 89 + "+"
    yield f"{datetime.datetime.now():%a %b %e %H:%M:%S %Y}       "
    yield rule
    driver, cuda = facts["driver_version"], facts["cuda_version"]
    yield f"| {f'NVIDIA-SMI {driver}  Driver Version: {driver}  CUDA Version: {cuda}':<87} |"
    yield rule
    for gpu in gpus:
        f = gpu.fields
        used = f"{f['memory.used']}MiB / {f['memory.total']}MiB"
        load = f"{f['temperature.gpu']}C {float(f['power.draw']):.0f}W / {float(f['power.limit']):.0f}W"
        yield f"| {gpu.index:>3} {f['name'][:38]:<38} {load:<18} {used:>20} {f['utilization.gpu']:>3}% |"
    yield rule
