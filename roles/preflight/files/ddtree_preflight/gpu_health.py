"""How the GPUs are: memory errors, pending repairs, what the driver asks for, power."""

from __future__ import annotations

from collections.abc import Iterator

from .catalogue import finding
from .finding import ERROR, WARNING, Finding, listed
from .smi import Gpu, Report

SOURCE = "nvidia-smi -q -x"
_UNCORRECTABLE = ("sram_uncorrectable_parity", "sram_uncorrectable_secded", "sram_uncorrectable", "dram_uncorrectable")
_PENDING = (
    "remapped_rows/remapped_row_pending",
    "retired_pages/pending_retirement",
    "ecc_errors/channel_repair_pending",
    "ecc_errors/tpc_repair_pending",
)
_SLOW = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
_DRAIN_P2P = "Drain P2P"  # nvmlDeviceGpuRecoveryAction: the GPU itself works


def check(report: Report, daemon_runs: bool) -> Iterator[Finding]:
    """`daemon_runs`: nvidia-persistenced is active."""
    off = [gpu for gpu in report.gpus if gpu.text("persistence_mode") == "Disabled"]
    if off and not daemon_runs:
        found = f"persistence mode is off on {_labels(off)}, and nvidia-persistenced doesn't run"
        yield finding("persistence", found, "one of both", evidence=[f"{SOURCE}: persistence_mode Disabled"])
    for gpu in report.gpus:
        yield from _recovery(gpu)
        yield from _ecc(gpu)
        yield from _repairs(gpu)
        yield from _power(gpu)


def _labels(gpus: list[Gpu]) -> str:
    return listed([gpu.label for gpu in gpus])


def _recovery(gpu: Gpu) -> Iterator[Finding]:
    asked = gpu.text("gpu_recovery_action")
    if asked not in ("", "None"):
        severity = WARNING if asked == _DRAIN_P2P else ERROR
        evidence = [f"{SOURCE}: {gpu.bus} gpu_recovery_action {asked}"]
        yield finding("gpu_recovery_action", f"{gpu.label} asks for: {asked}", "None", severity=severity, evidence=evidence)
    elif gpu.text("gpu_reset_status/reset_required") == "Yes":  # drivers before 570
        yield finding(
            "gpu_recovery_action", f"{gpu.label} needs a reset", "None", evidence=[f"{SOURCE}: {gpu.bus} reset_required Yes"]
        )


def _ecc(gpu: Gpu) -> Iterator[Finding]:
    counts = {name: gpu.number(f"ecc_errors/volatile/{name}") or 0 for name in _UNCORRECTABLE}
    seen = {name: int(count) for name, count in counts.items() if count}
    evidence = [f"{SOURCE}: {gpu.bus} ecc_errors/volatile/{name} {count}" for name, count in seen.items()]
    if seen:
        yield finding("gpu_ecc", f"{gpu.label} had {sum(seen.values())} uncorrectable memory errors", "none", evidence=evidence)
    if gpu.text("ecc_errors/aggregate/sram_threshold_exceeded") == "Yes":
        evidence = [f"{SOURCE}: {gpu.bus} sram_threshold_exceeded Yes"]
        yield finding("gpu_ecc", f"{gpu.label} is past NVIDIA's limit for SRAM errors", "below it", evidence=evidence)
    current, pending = gpu.text("ecc_mode/current_ecc"), gpu.text("ecc_mode/pending_ecc")
    if current == "Disabled" or (pending and pending != current):
        found = f"ECC of {gpu.label} is {current.lower()}" + (
            f", and {pending.lower()} after a reset" if pending != current else ""
        )
        yield finding(
            "ecc_mode", found, "enabled", evidence=[f"{SOURCE}: {gpu.bus} current_ecc {current}, pending_ecc {pending}"]
        )


def _repairs(gpu: Gpu) -> Iterator[Finding]:
    for path in _PENDING:
        if gpu.text(path) == "Yes":
            name = path.rpartition("/")[2]
            evidence = [f"{SOURCE}: {gpu.bus} {name} Yes"]
            yield finding("row_remap", f"{gpu.label}: {name.replace('_', ' ')}", "nothing pending", evidence=evidence)
    if gpu.text("remapped_rows/remapped_row_failure") == "Yes":
        yield finding(
            "row_remap",
            f"{gpu.label}: a row could not be remapped",
            "no failure",
            severity=ERROR,
            fix="have the GPU replaced: it has no spare memory left",
            evidence=[f"{SOURCE}: {gpu.bus} remapped_row_failure Yes"],
        )


def _power(gpu: Gpu) -> Iterator[Finding]:
    active = [name for name in _SLOW if _event(gpu, name) == "Active"]
    if active:
        evidence = [f"{SOURCE}: {gpu.bus} {name} Active" for name in active]
        yield finding("power_cap_throttle", f"{gpu.label} is slowed down: {listed(active)}", "not active", evidence=evidence)
    limit, usual = (gpu.number(f"gpu_power_readings/{name}_power_limit") for name in ("current", "default"))
    if limit and usual and limit < usual:
        severity = WARNING if limit < usual / 2 else ""
        found = f"the power limit of {gpu.label} is {limit:.0f} W"
        evidence = [f"{SOURCE}: {gpu.bus} current_power_limit {limit:.2f} W"]
        yield finding("power_limit", found, f"{usual:.0f} W, its default", severity=severity, evidence=evidence)


def _event(gpu: Gpu, name: str) -> str:
    new = gpu.text(f"clocks_event_reasons/clocks_event_reason_{name}")  # since 535; before, throttle reasons
    return new or gpu.text(f"clocks_throttle_reasons/clocks_throttle_reason_{name}")
