"""nvidia-smi, where NVML can't be had: over SSH, and on a host whose exporter lacks the library. Seconds, not milliseconds.

Names of elements: `nvidia-smi -q -x` of drivers 535 to 610 (nvsmi_device_v12 and v13); before 535 "event" was "throttle".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.gpus.facts import GpuFacts, Reading
from ddtree_ops.exporter.gpus.pci import PciAddress
from ddtree_ops.ports import Command, Completed, Shell

if TYPE_CHECKING:
    from xml.etree import ElementTree

SECONDS = 15
MOST_BYTES = 4 << 20
# nvidia-smi(1), RETURN VALUE; 127: not installed.
_NOT_INSTALLED = 127
_NO_SUCH_GPU = 6
_NONE_LEFT = "No devices were found"  # a driver without any GPU: exit code 6, in older ones 0
_LOST = 15
_LONGEST = 160
_CLOCKS = re.compile(r"<supported_clocks>.*?</supported_clocks>", re.DOTALL)  # most of the text
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,6})?")
_REASONS = {
    "sw_power_cap": "power",
    "hw_power_brake_slowdown": "power",
    "sw_thermal_slowdown": "thermal",
    "hw_thermal_slowdown": "thermal",
    "hw_slowdown": "hardware",
    "sync_boost": "other",
    "applications_clocks_setting": "other",
    "display_clocks_setting": "other",
}
_MIB = 2.0**20


class SmiError(DdtreeOpsError):
    """nvidia-smi hangs, or prints what is no report."""


def read(shell: Shell, most_gpus: int) -> Reading:
    """One GPU that is lost makes nvidia-smi give up on all of them: then each of `most_gpus` is asked for alone.

    Without any GPU, or nvidia-smi, it is a reading of none. Raises SmiError (no driver is loaded, it hangs, ...), Unreachable.
    """
    done = shell.run(_command())
    said_none = done.exit_code in (0, _NO_SUCH_GPU) and _NONE_LEFT in f"{done.stdout[:_LONGEST]}{done.stderr[:_LONGEST]}"
    if done.exit_code == _NOT_INSTALLED or said_none:
        return Reading("", ())
    if done.exit_code == 0:
        return parse(done.stdout)
    if done.exit_code in (124, 137):
        raise SmiError(f"nvidia-smi gave no answer in {SECONDS} s")
    found = _one_by_one(shell, most_gpus)
    if not found.gpus and done.exit_code != _LOST:
        words = " ".join((done.stderr or done.stdout).split())[:_LONGEST]
        raise SmiError(f"nvidia-smi ended with exit code {done.exit_code}: {words}")
    return found


def parse(text: str) -> Reading:
    """Of the whole report. Raises SmiError."""
    from xml.etree import ElementTree  # noqa: PLC0415 - half a megabyte, where NVML can't be had

    start = text.find("<nvidia_smi_log")
    if start < 0 or "<!ENTITY" in text:
        raise SmiError("nvidia-smi printed no report")
    try:
        root = ElementTree.fromstring(_CLOCKS.sub("", text[start:]))  # noqa: S314  the driver's own, without entities
    except ElementTree.ParseError as error:
        raise SmiError(f"nvidia-smi printed a damaged report: {error}") from error
    driver = (root.findtext("driver_version") or "").strip()
    return Reading(driver, tuple(_gpu(place, node) for place, node in enumerate(root.findall("gpu"))))


def _command(index: int | None = None) -> Command:
    only = () if index is None else ("-i", str(index))
    argv = ("timeout", "-k", "1", str(SECONDS), "nvidia-smi", "-q", "-x", *only)
    return Command(argv, ok=frozenset(range(256)), timeout=SECONDS + 5.0, most_bytes=MOST_BYTES)


def _one_by_one(shell: Shell, most_gpus: int) -> Reading:
    driver, found = "", []
    for index in range(most_gpus):
        done: Completed = shell.run(_command(index))
        if done.exit_code == _NO_SUCH_GPU:
            break
        if done.exit_code == 0:
            one = parse(done.stdout)
            driver = one.driver
            found += [replace(gpu, index=index) for gpu in one.gpus]
    return Reading(driver, tuple(found))


def _gpu(place: int, node: ElementTree.Element) -> GpuFacts:
    """In the report's order, which is that of nvidia-smi's indexes."""
    return GpuFacts(
        index=place,
        name=_text(node, "product_name") or "",
        pci=str(PciAddress.parse(node.get("id") or "") or ""),
        used=_scaled(_number(node, "fb_memory_usage/used"), _MIB),
        memory=_scaled(_number(node, "fb_memory_usage/total"), _MIB),
        busy=_scaled(_number(node, "utilization/gpu_util"), 0.01),
        temperature=_number(node, "temperature/gpu_temp"),
        power=_first(node, *_power("instant_power_draw", "power_draw", "average_power_draw")),
        power_limit=_first(node, *_power("current_power_limit", "enforced_power_limit", "power_limit")),
        throttled=_throttled(node),
        ecc=dict(_ecc(node)),
        remap_pending=_yes(node, "remapped_rows/remapped_row_pending"),
        remap_failed=_yes(node, "remapped_rows/remapped_row_failure"),
        pcie_width=_number(node, "pci/pci_gpu_link_info/link_widths/current_link_width"),
        pcie_generation=_number(node, "pci/pci_gpu_link_info/pcie_gen/current_link_gen"),
    )


def _power(*names: str) -> Iterator[str]:
    return (f"{section}/{name}" for section in ("gpu_power_readings", "power_readings") for name in names)


def _ecc(node: ElementTree.Element) -> Iterator[tuple[str, float]]:
    """Every counter of the section is one or the other by its name; without any number nothing is known."""
    counts: dict[str, float] = {}
    for child in node.findall("ecc_errors/aggregate/*"):
        value = _number(child, ".")
        if value is not None and "correctable" in child.tag:
            kind = "uncorrected" if "uncorrectable" in child.tag else "corrected"
            counts[kind] = counts.get(kind, 0.0) + value
    yield from counts.items()


def _throttled(node: ElementTree.Element) -> frozenset[str] | None:
    for word in ("event", "throttle"):
        section = node.find(f"clocks_{word}_reasons")
        if section is not None:
            active = {child.tag.removeprefix(f"clocks_{word}_reason_") for child in section if child.text == "Active"}
            return frozenset(_REASONS[name] for name in active & _REASONS.keys())
    return None


def _text(node: ElementTree.Element, path: str) -> str | None:
    """None for what has no meaning here: `N/A`, `[N/A]`, `Requested functionality has been deprecated`."""
    text = (node.findtext(path) or "").strip()
    return None if not text or "N/A" in text or text.startswith("Requested ") else text


def _number(node: ElementTree.Element, path: str) -> float | None:
    found = _NUMBER.match(_text(node, path) or "")
    return float(found[0]) if found else None


def _first(node: ElementTree.Element, *paths: str) -> float | None:
    return next((value for path in paths if (value := _number(node, path)) is not None), None)


def _yes(node: ElementTree.Element, path: str) -> bool | None:
    return {"Yes": True, "No": False}.get(_text(node, path) or "")


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
