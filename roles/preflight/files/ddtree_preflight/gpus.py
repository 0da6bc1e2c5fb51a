"""What the GPUs are: number, kind, driver, mode."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .catalogue import finding
from .finding import Finding, listed, one_line
from .host import Host
from .running import Answer
from .smi import Report
from .wanted import Gpus, Wanted, version_of

QUERY = ("nvidia-smi", "--query-gpu=index,name,memory.total,compute_cap,driver_version", "--format=csv,noheader,nounits")
MEMORY_TOLERANCE = 0.02  # drivers reserve a little more or less of it


def check(want: Wanted, csv: Answer, report: Report | None, host: Host) -> Iterator[Finding]:
    """Identity and driver; `report` is None where `nvidia-smi -q -x` said nothing."""
    if want.gpus is None:
        return
    yield from identity(want.gpus, csv)
    rows = _rows(csv.out) if csv.status == 0 else []
    driver = rows[0][4] if rows and len(rows[0]) > 4 else (report.driver if report else "")
    yield from _driver(want, driver, report, csv)
    yield from _module(host)
    for gpu in report.gpus if report else ():
        if gpu.text("mig_mode/current_mig") == "Enabled":
            yield finding(
                "mig_off", f"{gpu.label} is divided (MIG)", "whole GPUs", evidence=["nvidia-smi -q -x: current_mig Enabled"]
            )


def identity(want: Gpus, csv: Answer) -> Iterator[Finding]:
    """Number, name (one of several), memory (MiB, within 2 %) and compute capability are the profile's."""
    expected = f"{want.count} x {' or '.join(want.names)}, {want.memory_mib} MiB, compute capability {want.compute_cap}"
    if csv.status != 0:
        fix = "install or repair the NVIDIA driver (R580 or newer); after a lost GPU (Xid in the kernel log) reboot"
        said = one_line(csv.out) or str(csv.status)
        if "version mismatch" in said:
            fix = "reboot: the loaded kernel module is of another version than the driver's libraries"
        yield finding("gpus", f"no GPU can be used: nvidia-smi: {said}", expected, fix=fix, evidence=[csv.said(said)])
        return
    rows = _rows(csv.out)
    wrong = [row for row in rows if not _matches(row, want)]
    evidence = [csv.said(", ".join(row)) for row in (wrong or rows[:1])[:8]]
    if len(rows) != want.count or wrong:
        others = one_line("; ".join(", ".join(row[:4]) for row in wrong[:8]))
        shown = f", of which differ: {others}" if wrong else f": {one_line(_indexes(rows))}"
        yield finding("gpus", f"{len(rows)} GPUs{shown}", expected, evidence=evidence)
    names = sorted({row[1] for row in rows if row not in wrong and row[1] in want.siblings})
    if names:
        yield finding("gpu_sibling", f"the GPUs are {listed(names)}", " or ".join(want.names), evidence=evidence)


def _rows(out: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split(",")] for line in out.splitlines() if line.strip()]


def _matches(row: list[str], want: Gpus) -> bool:
    named = len(row) >= 4 and row[1] in (*want.names, *want.siblings)
    if not named or row[3] != want.compute_cap or not re.fullmatch("[0-9]{1,9}", row[2]):
        return False
    return abs(int(row[2]) - want.memory_mib) <= want.memory_mib * MEMORY_TOLERANCE


def _indexes(rows: list[list[str]]) -> str:
    return "index " + ", ".join(row[0] for row in rows) if rows else "none"


def _driver(want: Wanted, driver: str, report: Report | None, csv: Answer) -> Iterator[Finding]:
    floor = want.gpus.driver_floor if want.gpus else 0
    branch = re.match(r"([0-9]{3,4})\.", driver)
    evidence = [csv.said(driver)]
    if branch and int(branch[1]) < floor:
        yield finding("driver_cuda13", f"driver {driver}", f"branch {floor} or newer", evidence=evidence)
        return
    offers, needs = version_of(report.cuda if report else ""), want.cuda
    # Minor versions of one CUDA major run on each other's driver (minor version compatibility).
    if offers and needs and offers[0] < needs[0]:
        found = f"driver {driver} brings CUDA {report.cuda if report else ''}"
        yield finding("driver_cuda13", found, f"CUDA {needs[0]}, which the lock's libraries are of", evidence=evidence)


def _module(host: Host) -> Iterator[Finding]:
    first = host.read("/proc/driver/nvidia/version").partition("\n")[0]
    if first and "Open Kernel Module" not in first:
        evidence = [f"/proc/driver/nvidia/version: {first}"]
        yield finding("open_module", "the closed kernel module is loaded", "the open one", evidence=evidence)
