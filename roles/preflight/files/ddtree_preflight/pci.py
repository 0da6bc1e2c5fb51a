"""How the GPUs sit on the PCIe bus: IOMMU, ACS on the bridges above them, errors, power management. Read from sysfs alone."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from .catalogue import finding
from .finding import Finding, listed
from .host import Host
from .smi import Report
from .wanted import PCIE, Gpus

_DEVICES = "/sys/bus/pci/devices"
_BDF = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
# PCIe base specification, extended capabilities: a chain from 0x100 of (id u16, version:4 next:12); ACS is 0x000d with its
# control register at 6, of which bit 2 is P2P Request Redirect (lspci: ReqRedir).
_FIRST, _LAST, _ACS, _CONTROL, _REDIRECT = 0x100, 0xFFC, 0x000D, 6, 1 << 2


def check(want: Gpus, report: Report, host: Host) -> Iterator[Finding]:
    """PCIe hosts only, and what sysfs has of the GPUs that nvidia-smi named."""
    if want.interconnect != PCIE:
        return
    gpus = {gpu.label: address(gpu.bus) for gpu in report.gpus}
    present = {label: bdf for label, bdf in gpus.items() if host.exists(f"{_DEVICES}/{bdf}")}
    above = {label: bridges(host, bdf) for label, bdf in present.items()}
    yield from _iommu(present, host)
    redirecting = sorted({bridge for chain in above.values() for bridge in chain if redirects(host, bridge)})
    if redirecting:
        found = f"ACS redirects requests on {listed(redirecting, 6)}, above the GPUs"
        yield finding(
            "acs_redirect", found, "ReqRedir- on every bridge", evidence=[f"{_DEVICES}/{redirecting[0]}/config: ACSCtl ReqRedir+"]
        )
    yield from _errors({bdf for label, bdf in present.items()} | {one for chain in above.values() for one in chain}, host)
    line = host.read("/proc/cmdline").strip()
    if line and "pcie_aspm=off" not in line.split():
        yield finding(
            "pcie_pm", "power management of links is not turned off", "pcie_aspm=off", evidence=[f"/proc/cmdline: {line[:200]}"]
        )
    overrides = re.search(r'^RegistryDwords: "([^"]{1,300})"', host.read("/proc/driver/nvidia/params"), re.MULTILINE)
    if overrides:
        evidence = [f"/proc/driver/nvidia/params: {overrides[0]}"]
        yield finding("direct_attach_staging", f"the driver has settings of its own: {overrides[1]}", "none", evidence=evidence)


def address(bus: str) -> str:
    """nvidia-smi's `00000000:3B:00.0` as sysfs writes it: `0000:3b:00.0`."""
    return bus.lower()[4:] if len(bus) == len("00000000:00:00.0") else bus.lower()


def bridges(host: Host, bdf: str) -> tuple[str, ...]:
    """The bridges above a device, from the root port down: parts of its place in /sys/devices."""
    parts = host.real(f"{_DEVICES}/{bdf}").split("/")
    return tuple(part for part in parts if _BDF.fullmatch(part) and part != bdf)


def redirects(host: Host, bdf: str) -> bool:
    """Whether a bridge's ACS redirects peer requests; only root reads more than the first 64 bytes."""
    config = host.read_bytes(f"{_DEVICES}/{bdf}/config", 4096)
    place = _FIRST
    for _ in range(64):  # a chain may be damaged into a ring
        if not _FIRST <= place <= min(_LAST, len(config) - 8):
            return False
        (head,) = struct.unpack_from("<I", config, place)
        if head & 0xFFFF == _ACS:
            (control,) = struct.unpack_from("<H", config, place + _CONTROL)
            return bool(control & _REDIRECT)
        place = head >> 20
    return False


def _iommu(gpus: dict[str, str], host: Host) -> Iterator[Finding]:
    kinds = {label: host.read(f"{_DEVICES}/{bdf}/iommu_group/type", 64).strip() for label, bdf in gpus.items()}
    translated = {label: kind for label, kind in kinds.items() if kind.startswith("DMA")}
    if translated:
        label, kind = min(translated.items())
        found = f"the IOMMU translates for {listed(sorted(translated))} ({kind})"
        evidence = [f"{_DEVICES}/{gpus[label]}/iommu_group/type: {kind}"]
        yield finding("iommu_mode", found, "identity, or no IOMMU", evidence=evidence)


def _errors(devices: set[str], host: Host) -> Iterator[Finding]:
    for bdf in sorted(devices):
        text = host.read(f"{_DEVICES}/{bdf}/aer_dev_fatal", 4096)
        total = re.search(r"^TOTAL_ERR_FATAL ([0-9]{1,18})$", text, re.MULTILINE)
        if total and int(total[1]):
            kinds = [line.split()[0] for line in text.splitlines() if re.fullmatch(r"\S{1,40} [1-9][0-9]{0,17}", line)]
            found = f"{total[1]} fatal errors at {bdf}: {listed([kind for kind in kinds if not kind.startswith('TOTAL')], 4)}"
            yield finding("pcie_aer", found, "none", evidence=[f"{_DEVICES}/{bdf}/aer_dev_fatal: {total[0]}"])
