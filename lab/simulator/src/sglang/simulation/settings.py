"""Settings of the simulator: a KEY=VALUE file named by SGLANG_SIM_FILE, overridden by environment variables of the same names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sglang.simulation.faults import Fault, SettingsError, parse_faults

# Each phase's share of SIM_LOAD_SECONDS, roughly as a 590 GB model spends its time.
PHASE_SHARES: Mapping[str, float] = {
    "arguments": 0.06,
    "distributed_init": 0.08,
    "weights": 0.46,
    "kv_cache": 0.04,
    "graph_capture": 0.26,
    "warmup": 0.10,
}
DEFAULTS: Mapping[str, float] = {
    "SIM_LOAD_SECONDS": 8.0,
    "SIM_TOKENS_PER_SECOND": 400.0,
    "SIM_CRASH_SETTLE_SECONDS": 5.0,
    "SIM_COREDUMP_SECONDS": 60.0,
    "SIM_HEALTH_POLL_SECONDS": 0.2,
    "SIM_GPU_MEMORY_GB": 94.97,
    "SIM_WEIGHTS_GB": 0.0,
}


@dataclass(frozen=True)
class Settings:
    """What one run of the simulator does. Times in seconds, memory in GB (2**30 bytes, as SGLang prints it)."""

    phase_seconds: Mapping[str, float]
    tokens_per_second: float
    crash_settle_seconds: float
    coredump_seconds: float
    health_poll_seconds: float
    gpu_memory_gb: float
    weights_gb: float
    moments: str  # path of the file of true moments; empty: none
    faults: tuple[Fault, ...]

    def fault(self, name: str, phase: str | None = None, rank: int | None = None) -> Fault | None:
        """The fault of that name that concerns this phase and rank, or None."""
        for fault in self.faults:
            if fault.name != name or (phase is not None and fault.phase != phase):
                continue
            if rank is None or fault.rank is None or fault.rank == rank:
                return fault
        return None


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read file and environment. Raises SettingsError with one line that names the setting."""
    env = dict(os.environ if environment is None else environment)
    values = _read_file(env.get("SGLANG_SIM_FILE", ""))
    values.update({key: value for key, value in env.items() if key.startswith("SIM_")})
    allowed = {*DEFAULTS, "SIM_FAULT", "SIM_MOMENTS", *(f"SIM_SECONDS_{name.upper()}" for name in PHASE_SHARES)}
    for key in values:
        if key not in allowed:
            raise SettingsError(f"{key}: unknown setting; known are {', '.join(sorted(allowed))}")
    numbers = {key: _number(key, values.get(key, ""), default) for key, default in DEFAULTS.items()}
    faults = parse_faults(values.get("SIM_FAULT", ""))
    slow = next((fault.amount for fault in faults if fault.name == "slow_start"), 1.0)
    total = numbers["SIM_LOAD_SECONDS"] * slow
    seconds = {
        phase: _number(f"SIM_SECONDS_{phase.upper()}", values.get(f"SIM_SECONDS_{phase.upper()}", ""), total * share)
        for phase, share in PHASE_SHARES.items()
    }
    if numbers["SIM_TOKENS_PER_SECOND"] == 0:
        raise SettingsError("SIM_TOKENS_PER_SECOND: must be above 0")
    return Settings(
        phase_seconds=seconds,
        tokens_per_second=numbers["SIM_TOKENS_PER_SECOND"],
        crash_settle_seconds=numbers["SIM_CRASH_SETTLE_SECONDS"],
        coredump_seconds=numbers["SIM_COREDUMP_SECONDS"],
        health_poll_seconds=numbers["SIM_HEALTH_POLL_SECONDS"],
        gpu_memory_gb=numbers["SIM_GPU_MEMORY_GB"],
        weights_gb=numbers["SIM_WEIGHTS_GB"],
        moments=values.get("SIM_MOMENTS", ""),
        faults=faults,
    )


def _read_file(path: str) -> dict[str, str]:
    """KEY=VALUE lines; blank lines and `#` comments are skipped. A missing file counts as empty."""
    if not path:
        return {}
    values: dict[str, str] = {}
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib would cost every rank half a megabyte
            lines = file.read().splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"SGLANG_SIM_FILE {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key, separator, value = text.partition("=")
        if not separator or not key.strip().startswith("SIM_"):
            raise SettingsError(f"{path}:{number}: expected SIM_NAME=VALUE, got {text!r}")
        values[key.strip()] = value.strip().strip("\"'")
    return values


def _number(key: str, text: str, default: float) -> float:
    if not text:
        return default
    try:
        value = float(text)
    except ValueError:
        raise SettingsError(f"{key}: expected a number, got {text!r}") from None
    if not 0 <= value < 1e9:
        raise SettingsError(f"{key}: must be 0 or more, got {text!r}")
    return value
