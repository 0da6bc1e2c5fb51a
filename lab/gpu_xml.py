"""`nvidia-smi -q -x` of the stand-in: elements, order and values as NVIDIA's program (580, nvsmi_device_v13.dtd) prints them.

What a state file sets as `xml/<path>` (such as `xml/remapped_rows/remapped_row_pending`) replaces the text at that path.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from html import escape  # that of xml.sax brings HTTP and TLS along, and every look at a host starts this program
from typing import Any

from gpu_state import Gpu, Host

Element = tuple[str, Any]  # name, and text or elements
DEPRECATED = "Requested functionality has been deprecated"
CLOCKS = range(1965, 345, -15)


def document(host: Host, gpus: Sequence[Gpu]) -> Iterator[str]:
    yield '<?xml version="1.0" ?>'
    yield '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">'
    yield "<nvidia_smi_log>"
    head = (
        ("timestamp", f"{datetime.datetime.now():%a %b %e %H:%M:%S %Y}"),
        ("driver_version", host.facts["driver_version"]),
        ("cuda_version", host.facts["cuda_version"]),
        ("attached_gpus", len(host.gpus)),
    )
    for name, text in head:
        yield element(1, name, text)
    for gpu in gpus:
        yield f'\t<gpu id="{gpu.fields["pci.bus_id"]}">'
        yield from lines(2, "", contents(host, gpu), gpu.fields)
        yield "\t</gpu>"
    yield "</nvidia_smi_log>"


def element(depth: int, name: str, text: object) -> str:
    return "\t" * depth + f"<{name}>{escape(str(text), quote=False)}</{name}>"


def lines(depth: int, above: str, elements: Sequence[Element], fields: dict[str, str]) -> Iterator[str]:
    for name, content in elements:
        path = f"{above}{name}"
        if isinstance(content, tuple):
            yield "\t" * depth + f"<{name}>"
            yield from lines(depth + 1, f"{path}/", content, fields)
            yield "\t" * depth + f"</{name}>"
        else:
            yield element(depth, name, fields.get(f"xml/{path}", content))


def contents(host: Host, gpu: Gpu) -> tuple[Element, ...]:
    return (*identity(gpu), *bus(gpu), *performance(gpu), *memory(host, gpu), *errors(gpu), *power(gpu), *rest(host, gpu))


def identity(gpu: Gpu) -> tuple[Element, ...]:
    f = gpu.fields
    return (
        ("product_name", f["name"]),
        ("product_brand", "NVIDIA"),
        ("product_architecture", "Blackwell"),
        ("display_mode", DEPRECATED),
        ("persistence_mode", f["persistence_mode"]),
        ("addressing_mode", f["addressing_mode"]),
        ("mig_mode", (("current_mig", f["mig.mode.current"]), ("pending_mig", f["mig.mode.current"]))),
        ("uuid", f["uuid"]),
        ("minor_number", gpu.index),
        ("gpu_recovery_action", f["gpu_recovery_action"]),
    )


def bus(gpu: Gpu) -> tuple[Element, ...]:
    f = gpu.fields
    generation = (
        ("max_link_gen", f["pcie.link.gen.max"]),
        ("current_link_gen", f["pcie.link.gen.current"]),
        ("device_current_link_gen", f["pcie.link.gen.current"]),
        ("max_device_link_gen", f["pcie.link.gen.gpumax"]),
        ("max_host_link_gen", "N/A"),
    )
    widths = (("max_link_width", f["pcie.link.width.max"] + "x"), ("current_link_width", f["pcie.link.width.current"] + "x"))
    info = (("pcie_gen", generation), ("link_widths", widths))
    name = ("pci_device_id", f["pci.device_id"].removeprefix("0x"))
    return (("pci", (name, ("pci_bus_id", f["pci.bus_id"]), ("pci_gpu_link_info", info), ("replay_counter", 0))),)


def performance(gpu: Gpu) -> tuple[Element, ...]:
    f = gpu.fields
    names = ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")
    reasons = tuple((f"clocks_event_reason_{name}", f[f"clocks_event_reasons.{name}"]) for name in names)
    return (("performance_state", f["pstate"]), ("clocks_event_reasons", reasons))


def memory(host: Host, gpu: Gpu) -> tuple[Element, ...]:
    f = gpu.fields
    usage = tuple((name, f"{f[f'memory.{name}']} MiB") for name in ("total", "reserved", "used", "free"))
    bar = host.facts["bar1_mib"]
    return (
        ("fb_memory_usage", usage),
        ("bar1_memory_usage", (("total", f"{bar} MiB"), ("used", "1 MiB"), ("free", f"{bar - 1} MiB"))),
        ("compute_mode", "Default"),
        ("utilization", (("gpu_util", f"{f['utilization.gpu']} %"), ("memory_util", f"{f['utilization.memory']} %"))),
        ("ecc_mode", (("current_ecc", f["ecc.mode.current"]), ("pending_ecc", f["ecc.mode.pending"]))),
    )


def errors(gpu: Gpu) -> tuple[Element, ...]:
    f = gpu.fields
    bad, good = f["ecc.errors.uncorrected.volatile.total"], f["ecc.errors.corrected.volatile.total"]
    volatile = (
        ("sram_correctable", 0),
        ("sram_uncorrectable_parity", 0),
        ("sram_uncorrectable_secded", 0),
        ("dram_correctable", good),
        ("dram_uncorrectable", bad),
    )
    aggregate = (*volatile, ("sram_threshold_exceeded", "No"))
    retired = (("pending_blacklist", "N/A"), ("pending_retirement", f["retired_pages.pending"]))
    rows = tuple((f"remapped_row_{name}", f[f"remapped_rows.{key}"]) for name, key in ROWS)
    repair = (("channel_repair_pending", "No"), ("tpc_repair_pending", "No"))
    return (
        ("ecc_errors", (("volatile", volatile), ("aggregate", aggregate), *repair)),
        ("retired_pages", retired),
        ("remapped_rows", rows),
    )


ROWS = (("corr", "correctable"), ("unc", "uncorrectable"), ("pending", "pending"), ("failure", "failure"))


def power(gpu: Gpu) -> tuple[Element, ...]:
    f = gpu.fields
    readings = (
        ("power_state", f["pstate"]),
        ("average_power_draw", f"{f['power.draw']} W"),
        ("instant_power_draw", f"{f['power.draw']} W"),
        ("current_power_limit", f"{f['power.limit']} W"),
        ("requested_power_limit", f"{f['power.limit']} W"),
        ("default_power_limit", f"{f['power.default_limit']} W"),
    )
    return (("temperature", (("gpu_temp", f"{f['temperature.gpu']} C"),)), ("gpu_power_readings", readings))


def rest(host: Host, gpu: Gpu) -> tuple[Element, ...]:
    f = gpu.fields
    joined = f["fabric.state"] == "Completed"
    health = (("summary", "Healthy" if joined else "N/A"), ("bandwidth", "N/A"), ("route_unhealthy", "N/A"))
    fabric = (("state", f["fabric.state"].strip("[]")), ("status", f["fabric.status"].strip("[]")), ("health", health))
    clocks = tuple(("supported_graphics_clock", f"{clock} MHz") for clock in CLOCKS)
    processes = tuple(
        ("process_info", (("pid", one.pid), ("type", "C"), ("process_name", one.name), ("used_memory", f"{one.mib} MiB")))
        for one in host.processes
        if one.gpu == gpu.index
    )
    return (
        ("fabric", fabric),
        ("supported_clocks", (("supported_mem_clock", (("value", "3996 MHz"), *clocks)),)),
        ("processes", processes),
        ("accounted_processes", ()),
    )
