"""What lies between the GPUs: peer access, NVLink, fabric, PCIe links and windows."""

from __future__ import annotations

from collections.abc import Iterator

from . import smi
from .catalogue import finding
from .finding import Finding, listed
from .gpu_health import SOURCE
from .running import Answer
from .smi import Gpu, Report
from .units import Units
from .wanted import NVLINK, PCIE, Gpus

P2P_READ = ("nvidia-smi", "topo", "-p2p", "r")
P2P_WRITE = ("nvidia-smi", "topo", "-p2p", "w")
TOPOLOGY = ("nvidia-smi", "topo", "-m")
LINKS = ("nvidia-smi", "nvlink", "-s")
FULL_WIDTH = 16
FABRIC_MANAGER = "nvidia-fabricmanager.service"


def commands(want: Gpus) -> tuple[tuple[str, ...], ...]:
    """What to ask for this kind of host."""
    return {PCIE: (P2P_READ, P2P_WRITE), NVLINK: (TOPOLOGY, LINKS)}.get(want.interconnect, ())


def check(want: Gpus, report: Report, answers: dict[tuple[str, ...], Answer], units: Units, nvlsm: bool) -> Iterator[Finding]:
    """`answers` to commands(); `nvlsm`: such a process runs."""
    if want.interconnect == PCIE:
        yield from _peers([answers[command] for command in (P2P_READ, P2P_WRITE) if command in answers])
        for gpu in report.gpus:
            yield from _pcie(gpu)
        yield from _hmm(report)
        if any(gpu.text("fabric/state") == "Completed" for gpu in report.gpus):
            evidence = [f"{SOURCE}: fabric/state Completed"]
            yield finding(
                "interconnect", "the GPUs are joined by an NVLink fabric", "PCIe, as the profile says", evidence=evidence
            )
    elif want.interconnect == NVLINK:
        yield from _fabric(report, units, nvlsm)
        yield from _nvlink(answers.get(TOPOLOGY), answers.get(LINKS))


def _peers(asked: list[Answer]) -> Iterator[Finding]:
    """Both directions of both kinds of access, each pair said once."""
    bad: dict[str, str] = {}
    evidence = []
    for answer in asked:
        states = smi.matrix(answer.out) if answer.status == 0 else {}
        wrong = {f"{min(pair)}-{max(pair)}": state for pair, state in states.items() if state not in ("OK", "X")}
        bad.update(wrong)
        evidence += [answer.said(f"{pair} {state}") for pair, state in list(wrong.items())[:1]]
    if bad:
        found = f"no peer access in {len(bad)} pairs: {listed([f'{pair} {state}' for pair, state in bad.items()], 4)}"
        yield finding("p2p_status", found, "OK for every pair", evidence=evidence)


def _pcie(gpu: Gpu) -> Iterator[Finding]:
    top = "pci/pci_gpu_link_info"
    link, device = (gpu.number(f"{top}/pcie_gen/{name}") for name in ("max_link_gen", "max_device_link_gen"))
    wide, now = (gpu.number(f"{top}/link_widths/{name}_link_width") for name in ("max", "current"))
    if link and wide and now and (link < (device or link) or now < wide or wide < FULL_WIDTH):
        found = f"{gpu.label} has PCIe generation {link:.0f} at width {now:.0f} of {wide:.0f}"
        evidence = [f"{SOURCE}: {gpu.bus} max_link_gen {link:.0f}, current_link_width {now:.0f}x"]
        yield finding("pcie_link", found, f"generation {device or link:.0f}, width {FULL_WIDTH}", evidence=evidence)
    bar, memory = gpu.number("bar1_memory_usage/total"), gpu.number("fb_memory_usage/total")
    if bar and memory and bar < memory:
        evidence = [f"{SOURCE}: {gpu.bus} bar1_memory_usage/total {bar:.0f} MiB"]
        yield finding("bar1", f"BAR1 of {gpu.label} is {bar:.0f} MiB", f"{memory:.0f} MiB or more", evidence=evidence)


def _hmm(report: Report) -> Iterator[Finding]:
    on = [gpu.label for gpu in report.gpus if gpu.text("addressing_mode") == "HMM"]
    if on:
        yield finding(
            "hmm_uvm", f"HMM is on for {listed(on)}", "addressing mode None", evidence=[f"{SOURCE}: addressing_mode HMM"]
        )


def _fabric(report: Report, units: Units, nvlsm: bool) -> Iterator[Finding]:
    manager = units.get(FABRIC_MANAGER)
    said = [f"systemctl show {FABRIC_MANAGER}: {manager.load}, {manager.active}", f"process nvlsm: {'runs' if nvlsm else 'none'}"]
    bad = [gpu for gpu in report.gpus if not _joined(gpu)]
    for gpu in bad[:1]:
        state, status = gpu.text("fabric/state") or "unknown", gpu.text("fabric/status") or "unknown"
        found = f"the fabric of {listed([one.label for one in bad])} is {state}, {status}"
        yield finding("fabric_state", found, "Completed, Success", evidence=[f"{SOURCE}: {gpu.bus} fabric/state {state}", *said])
    if not bad and manager.load == "loaded" and manager.active != "active":
        yield finding("fabric_manager", f"nvidia-fabricmanager is {manager.active}", "active", evidence=said)
    for gpu in report.gpus:
        health = gpu.text("fabric/health/summary")
        if health not in ("", "Healthy"):
            yield finding(
                "nvlink_up",
                f"the fabric of {gpu.label} is {health}",
                "Healthy",
                evidence=[f"{SOURCE}: {gpu.bus} health/summary {health}"],
            )


def _joined(gpu: Gpu) -> bool:
    """A GPU that has no fabric to join says N/A; whether NVLink is there is the topology's to say."""
    return gpu.text("fabric/state") in ("Completed", "") and gpu.text("fabric/status") in ("Success", "")


def _nvlink(topology: Answer | None, links: Answer | None) -> Iterator[Finding]:
    pairs = smi.matrix(topology.out) if topology and topology.status == 0 else {}
    bad = [f"{a}-{b} {how}" for (a, b), how in pairs.items() if a < b and not how.startswith("NV")]
    if bad and topology:
        found = f"{len(bad)} pairs aren't joined by NVLink: {listed(bad, 4)}"
        yield finding("nvlink_up", found, "NV# for every pair", evidence=[topology.said(bad[0])])
    found_links = smi.links(links.out) if links and links.status == 0 else {}
    down = [f"{gpu} link {n}" for gpu, one in found_links.items() for n, state in one.items() if "inactive" in state.lower()]
    if down and links:
        yield finding(
            "nvlink_up", f"inactive: {listed(down, 6)}", "every link active", evidence=[links.said(f"{down[0]}: <inactive>")]
        )
