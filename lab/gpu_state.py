"""What the stand-in nvidia-smi knows about the GPUs of a lab host.

What the GPUs are comes from /etc/ddtree-lab/gpu.json (lab/profiles), what happened to them from
/run/ddtree-lab/gpu-state.json, which may be absent:

    {"driver": "ok" | "not_loaded" | "version_mismatch" | "hang",
     "gpus": {"3": {"state": "ok" | "missing" | "lost", "temperature.gpu": 91, "memory.used": 90000, ...}},
     "processes": [{"pid": 4242, "gpu": 3, "used_memory": 90000, "name": "python3"}],
     "facts": {"driver_version": "570.1", "bar1_mib": 256},
     "peers": {"0-1": "CNS"}, "topology": {"0-1": "SYS"}}

`facts` replaces the profile's; `peers` and `topology` the cells of `topo -p2p` and `topo -m`, in both directions.
`missing` is a GPU that was not there at boot, `lost` one that fell off the bus. Any field that --query-gpu
knows may be set, and `xml/<path>` for what only `-q -x` shows (gpu_xml.py).
Ranks of the simulator write `<pid> <MiB>` into /run/ddtree-lab/gpu/<rank>.used_mib; rank n runs on GPU n.
"""

from __future__ import annotations

import datetime
import json
import signal
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PROFILE: Final = Path("/etc/ddtree-lab/gpu.json")
STATE: Final = Path("/run/ddtree-lab/gpu-state.json")
USED: Final = Path("/run/ddtree-lab/gpu")
MACHINE_ID: Final = Path("/etc/machine-id")

REASONS: Final = ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown")

# Exit codes: nvidia-smi(1) "Return Value"; 18 is NVML_ERROR_LIB_RM_VERSION_MISMATCH of nvml.h, passed on as it is.
EXIT_USAGE: Final = 2
EXIT_NO_OBJECT: Final = 6
EXIT_NO_DRIVER: Final = 9
EXIT_GPU_LOST: Final = 15
EXIT_MISMATCH: Final = 18


class SmiError(Exception):
    """What the program says (on stdout, as NVIDIA's does) before it ends with an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Process:
    """A process that holds GPU memory (MiB)."""

    pid: int
    gpu: int
    name: str
    mib: int


@dataclass(frozen=True)
class Gpu:
    """One GPU with the answer to every field of --query-gpu, as text without units."""

    index: int
    state: str
    fields: dict[str, str]


@dataclass(frozen=True)
class Host:
    """The profile's facts, the GPUs that can be asked, and the processes on them."""

    facts: dict[str, Any]
    gpus: tuple[Gpu, ...]
    processes: tuple[Process, ...]
    peers: dict[str, str]
    topology: dict[str, str]


def read_host() -> Host:
    """Read profile, state file and the ranks' memory; raises SmiError if the driver is to be broken."""
    facts, state = _read_json(PROFILE), _read_json(STATE)
    _check_driver(state.get("driver", "ok") if facts else "not_loaded")
    facts |= state.get("facts", {})
    processes = (*_foreign_processes(state), *_ranks())
    gpus = []
    for index in range(facts["count"]):
        changes = state.get("gpus", {}).get(str(index), {})
        held = [process.mib for process in processes if process.gpu == index]
        if changes.get("state") != "missing":
            fields = _fields(facts, index, changes, sum(held), bool(held))
            gpus.append(Gpu(index, changes.get("state", "ok"), fields))
    return Host(facts, tuple(gpus), processes, state.get("peers", {}), state.get("topology", {}))


def _check_driver(driver: str) -> None:
    if driver == "hang":  # as on a host with a broken GPU; there even SIGKILL may not end it
        signal.pause()
    if driver == "not_loaded":
        message = (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running.\n"
        )
        raise SmiError(message, EXIT_NO_DRIVER)
    if driver == "version_mismatch":
        raise SmiError("Failed to initialize NVML: Driver/library version mismatch", EXIT_MISMATCH)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SmiError(f"{path}: {error}", 255) from error
    if not isinstance(document, dict):
        raise SmiError(f"{path}: not a JSON object", 255)
    return document


def _process_name(pid: int) -> str | None:
    """The name of a live process; None if it is gone, or a zombie (whose memory the driver has freed already)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode(errors="replace")
    except OSError:
        return None
    values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return None if values["State"].startswith("Z") else command or values["Name"]


def _ranks() -> list[Process]:
    found = []
    for file in sorted(USED.glob("*.used_mib")):
        try:
            pid, mib = (int(word) for word in file.read_text().split())
            rank = int(file.name.split(".")[0])
        except (OSError, ValueError):
            continue  # half-written, or gone meanwhile
        name = _process_name(pid)
        if name is not None:
            found.append(Process(pid, rank, name, mib))
    return found


def _foreign_processes(state: dict[str, Any]) -> list[Process]:
    entries = state.get("processes", [])
    return [Process(e["pid"], e["gpu"], e.get("name", "python3"), e["used_memory"]) for e in entries]


def _fields(facts: dict[str, Any], index: int, changes: dict[str, Any], held_mib: int, busy: bool) -> dict[str, str]:
    """The profile's values, then what the state file changes, then the memory that follows from both."""
    values = _identity(facts, index) | _condition(facts, busy)
    values |= {key: value for key, value in changes.items() if key != "state"}
    values["memory.used"] = min(int(values["memory.used"]) + held_mib, int(values["memory.total"]))
    values.setdefault("memory.free", int(values["memory.total"]) - values["memory.used"])
    values.setdefault("ecc.mode.pending", values["ecc.mode.current"])
    return {key: str(value) for key, value in values.items()}


def _identity(facts: dict[str, Any], index: int) -> dict[str, Any]:
    return {
        "timestamp": f"{datetime.datetime.now():%Y/%m/%d %H:%M:%S.%f}"[:-3],
        "index": index,
        "count": facts["count"],
        "name": facts["name"],
        "uuid": f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{MACHINE_ID.read_text().strip()} {index}')}",
        "pci.bus_id": f"00000000:{0x11 + 0x10 * index:02X}:00.0",
        "pci.device_id": facts["pci_device_id"],
        "compute_cap": facts["compute_cap"],
        "driver_version": facts["driver_version"],
        "memory.total": facts["memory_mib"],
        "power.limit": f"{facts['power_limit_w']:.2f}",
        "power.default_limit": f"{facts['power_limit_w']:.2f}",
        "pcie.link.gen.max": facts["pcie_gen"],
        "pcie.link.gen.gpumax": facts["pcie_gen"],
        "pcie.link.width.max": facts["pcie_width"],
    }


def _condition(facts: dict[str, Any], busy: bool) -> dict[str, Any]:
    fabric = facts["fabric"] or {"state": "[N/A]", "status": "[N/A]"}
    return {
        "addressing_mode": facts["addressing_mode"],
        "persistence_mode": "Enabled",
        "mig.mode.current": "Disabled",
        "memory.used": 0,
        "memory.reserved": 0,
        "pstate": "P0" if busy else "P8",
        "power.draw": f"{facts['idle_power_w'] * (3 if busy else 1):.2f}",
        "temperature.gpu": facts["idle_temperature_c"] + (15 if busy else 0),
        "utilization.gpu": 0,
        "utilization.memory": 0,
        "pcie.link.gen.current": facts["pcie_gen"] if busy else 1,  # links slow down while idle
        "pcie.link.width.current": facts["pcie_width"],
        "ecc.mode.current": "Enabled",
        "ecc.errors.corrected.volatile.total": 0,
        "ecc.errors.uncorrected.volatile.total": 0,
        "retired_pages.pending": "N/A",
        "remapped_rows.correctable": 0,
        "remapped_rows.uncorrectable": 0,
        "remapped_rows.pending": "No",
        "remapped_rows.failure": "No",
        **{f"clocks_event_reasons.{name}": "Not Active" for name in REASONS},
        "gpu_recovery_action": "None",
        "fabric.state": fabric["state"],
        "fabric.status": fabric["status"],
    }
