"""GPUs by nvidia-smi (a recorded H200, the lab's stand-in) and by NVML (values as an H200 with driver 580 gave them)."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from ddtree_ops.adapters.local import LocalShell
from ddtree_ops.errors import HostCommandFailed
from ddtree_ops.exporter.collectors.gpus import NVML_PERIOD, SMI_PERIOD, GpusCollector
from ddtree_ops.exporter.gpus import nvml, smi
from ddtree_ops.exporter.gpus.facts import GpuFacts, Reading
from ddtree_ops.exporter.gpus.samples import samples
from ddtree_ops.exporter.target import Target
from ddtree_ops.ports import Command, Completed
from tests.exporter.shells import Silent

PROJECT = Path(__file__).resolve().parents[2]
RECORDED = PROJECT / "tests/roles/smi/h200-580.159.04.xml"


def told(reading: Reading) -> dict[tuple[str, ...], float]:
    return {(one.metric.name.removeprefix("ddtree_ops_gpu"), *one.labels): one.value for one in samples(reading)}


def test_a_recorded_report() -> None:
    found = told(smi.parse(RECORDED.read_text()))
    assert found["_info", "0", "NVIDIA H200", "580.159.04", "0000:00:06.0"] == 1
    assert found["_memory_size_bytes", "0"] == 143771 * 2**20
    assert (found["_power_watts", "0"], found["_power_limit_watts", "0"]) == (79.07, 700)
    assert found["_ecc_errors_total", "0", "uncorrected"] == found["_rows_remap_failed", "0"] == 0
    assert (found["_pcie_link_width_lanes", "0"], found["_pcie_link_generation", "0"]) == (16, 5)
    assert found["_throttled", "0", "thermal"] == 0, "idling is no reason"
    assert ("_nvlinks_active", "0") not in found, "the report says nothing of links"


def changed(*changes: tuple[str, str]) -> dict[tuple[str, ...], float]:
    text = RECORDED.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after, 1)
    return told(smi.parse(text))


def test_what_a_gpu_does_not_tell_gives_no_sample() -> None:
    found = changed(
        ("<gpu_util>0 %</gpu_util>", "<gpu_util>N/A</gpu_util>"),
        ("<gpu_temp>35 C</gpu_temp>", "<gpu_temp>[N/A]</gpu_temp>"),
        ("<remapped_row_pending>No<", "<remapped_row_pending>N/A<"),
        ("<current_link_gen>5<", "<current_link_gen>Requested functionality has been deprecated<"),
    )
    gone = {"_utilization_ratio", "_temperature_celsius", "_rows_remap_pending", "_pcie_link_generation"}
    assert not gone & {key[0] for key in found}
    assert ("_rows_remap_failed", "0") in found


@pytest.mark.parametrize(
    ("active", "reason"),
    [("sw_power_cap", "power"), ("hw_thermal_slowdown", "thermal"), ("hw_slowdown", "hardware"), ("sync_boost", "other")],
)
def test_reasons(active: str, reason: str) -> None:
    name = f"clocks_event_reason_{active}"
    found = changed((f"<{name}>Not Active<", f"<{name}>Active<"))
    assert {key[2] for key, value in found.items() if key[0] == "_throttled" and value} == {reason}


def test_errors_add_up_by_what_they_are() -> None:
    text = RECORDED.read_text()
    head, _, tail = text.partition("<aggregate>")
    tail = tail.replace("<dram_correctable>0<", "<dram_correctable>7<", 1).replace("_secded>0<", "_secded>2<", 1)
    tail = tail.replace("<dram_uncorrectable>0<", "<dram_uncorrectable>1<", 1)
    found = told(smi.parse(f"{head}<aggregate>{tail}"))
    assert found["_ecc_errors_total", "0", "corrected"] == 7
    assert found["_ecc_errors_total", "0", "uncorrected"] == 3


@pytest.mark.parametrize(
    "text", ["", "No devices were found", "<nvidia_smi_log><gpu>", "<!DOCTYPE a [<!ENTITY b 'c'>]><nvidia_smi_log/>"]
)
def test_no_report(text: str) -> None:
    with pytest.raises(smi.SmiError):
        smi.parse(text)


STAND_IN = """\
#!{python}
import runpy, sys
from pathlib import Path
sys.path.insert(0, {lab!r})
import gpu_state
gpu_state.PROFILE, gpu_state.STATE, gpu_state.USED = (Path({here!r}) / name for name in ("gpu.json", "state.json", "used"))
runpy.run_path({lab!r} + "/nvidia-smi", run_name="__main__")
"""


def lab_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: dict[str, Any]) -> GpusCollector:
    """A host with the lab's nvidia-smi, in a state of its GPUs."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable, lab=str(PROJECT / "lab"), here=str(tmp_path)))
    program.chmod(0o755)
    shutil.copy(PROJECT / "lab/profiles/b300-8x.json", tmp_path / "gpu.json")
    (tmp_path / "state.json").write_text(json.dumps(state))
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return GpusCollector(Target(LocalShell("b300"), Silent()))


@pytest.mark.processes
def test_a_gpu_that_is_lost_shows_and_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = lab_host(tmp_path, monkeypatch, {"gpus": {"3": {"state": "lost"}}}).read()
    assert found[0].value == 7
    assert {one.labels[0] for one in found if one.metric.name == "ddtree_ops_gpu_memory_used_bytes"} == set("0124567")


@pytest.mark.processes
def test_a_driver_that_sees_no_gpu_any_more_shows_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = {str(index): {"state": "missing"} for index in range(8)}
    found = lab_host(tmp_path, monkeypatch, {"gpus": gone}).read()
    assert [(one.metric.name, one.value) for one in found] == [("ddtree_ops_gpus_seen", 0)]


@pytest.mark.processes
def test_all_gpus_are_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = lab_host(tmp_path, monkeypatch, {"gpus": {str(index): {"state": "lost"} for index in range(8)}}).read()
    assert [one.value for one in found] == [0]


@pytest.mark.processes
def test_a_driver_that_is_not_loaded_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(smi.SmiError, match="exit code 9"):
        lab_host(tmp_path, monkeypatch, {"driver": "not_loaded"}).read()


@pytest.mark.processes
def test_a_driver_that_is_not_the_librarys_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(smi.SmiError, match="version mismatch"):
        lab_host(tmp_path, monkeypatch, {"driver": "version_mismatch"}).read()


@pytest.mark.processes
def test_no_nvidia_smi_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "timeout").symlink_to(shutil.which("timeout") or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [one.value for one in GpusCollector(Target(LocalShell("here"), Silent())).read()] == [0]


class NvmlError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class Library:
    """nvidia-ml-py's names over two GPUs. `broken`: by index or by call, the error that it gives."""

    NVMLError = NvmlError
    NVML_ERROR_DRIVER_NOT_LOADED, NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_GPU_IS_LOST = 9, 3, 15
    NVML_ERROR_RESET_REQUIRED, NVML_ERROR_UNKNOWN = 16, 999
    NVML_TEMPERATURE_GPU = NVML_MEMORY_ERROR_TYPE_CORRECTED = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = NVML_AGGREGATE_ECC = NVML_FEATURE_ENABLED = 1
    nvmlMemory_v2 = 33554472
    VALUES: ClassVar[dict[str, Any]] = {
        "Init": None,
        "SystemGetDriverVersion": "580.159.04",
        "DeviceGetCount": 2,
        "DeviceGetName": "NVIDIA H200",
        "DeviceGetPciInfo": SimpleNamespace(busId="00000000:3B:00.0"),
        "DeviceGetTemperature": 36,
        "DeviceGetMemoryInfo": SimpleNamespace(total=150754820096, used=0),
        "DeviceGetRemappedRows": (0, 1, 1, 0),
        "DeviceGetUtilizationRates": SimpleNamespace(gpu=42),
        "DeviceGetPowerUsage": 79000,
        "DeviceGetEnforcedPowerLimit": 700000,
        "DeviceGetCurrentClocksThrottleReasons": 1,
        "DeviceGetTotalEccErrors": 5,
        "DeviceGetCurrPcieLinkWidth": 16,
        "DeviceGetCurrPcieLinkGeneration": 5,
    }

    def __init__(self, broken: dict[int | str, int] | None = None, **values: Any) -> None:
        self.broken = broken or {}
        self.values = {**self.VALUES, **values}

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            call_name = name.removeprefix("nvml")
            known = call_name in ("DeviceGetHandleByIndex", "DeviceGetName", "DeviceGetPciInfo")  # also of a GPU that is lost
            for what in (call_name, *(() if known else arguments[:1])):
                if what in self.broken:
                    raise NvmlError(self.broken[what])
            if call_name == "DeviceGetHandleByIndex":
                return arguments[0]
            if call_name == "DeviceGetNvLinkState":
                if arguments[1] >= 18:
                    raise NvmlError(2)
                return int(arguments[1] != 4)
            return self.values[call_name]

        return call


def test_nvml() -> None:
    found = told(nvml.Nvml(Library()).read())
    assert found["s_seen",] == 2
    assert found["_info", "1", "NVIDIA H200", "580.159.04", "0000:3b:00.0"] == 1
    assert (found["_utilization_ratio", "0"], found["_power_watts", "0"], found["_temperature_celsius", "0"]) == (0.42, 79, 36)
    assert (found["_rows_remap_pending", "0"], found["_rows_remap_failed", "0"]) == (1, 0)
    assert found["_nvlinks_active", "0"] == 17
    assert found["_ecc_errors_total", "1", "uncorrected"] == 5


@pytest.mark.parametrize(
    ("mask", "reasons"), [(0x1, set()), (0x4, {"power"}), (0x48, {"thermal", "hardware"}), (0x80, {"power"}), (0x1000, {"other"})]
)
def test_nvmls_reasons(mask: int, reasons: set[str]) -> None:
    (gpu, _) = nvml.Nvml(Library(DeviceGetCurrentClocksThrottleReasons=mask)).read().gpus
    assert set(gpu.throttled or ()) == reasons


@pytest.mark.parametrize("error", [15, 16, 999])
def test_a_gpu_that_fell_off_the_bus(error: int) -> None:
    (left,) = nvml.Nvml(Library({1: error})).read().gpus
    assert left.index == 0


def test_what_nvml_does_not_support() -> None:
    calls = [name for name in Library.VALUES if name.startswith("DeviceGet")]
    kept = ("DeviceGetCount", "DeviceGetName", "DeviceGetPciInfo")
    library = Library({name: 3 for name in (*calls, "DeviceGetNvLinkState") if name not in kept})
    assert {key[0] for key in told(nvml.Nvml(library).read())} == {"s_seen", "_info"}


def test_nvml_without_any_gpu() -> None:
    assert told(nvml.Nvml(Library(DeviceGetCount=0)).read()) == {("s_seen",): 0}


@pytest.mark.parametrize("error", [9, 18])
def test_a_driver_that_nvml_cannot_use(error: int) -> None:
    with pytest.raises(NvmlError):
        nvml.Nvml(Library({"Init": error})).read()


def test_a_reading_survives_its_way_here() -> None:
    reading = nvml.Nvml(Library(DeviceGetCurrentClocksThrottleReasons=0x44)).read()
    assert Reading.from_json(reading.to_json()) == reading
    bare = Reading("", (GpuFacts(0, "a", "b"),))
    assert Reading.from_json(bare.to_json()) == bare


class Told(LocalShell):
    """Gives one answer to the program that asks NVML, and runs the rest."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__("here")
        self._answer = (code, text)

    def run(self, command: Command) -> Completed:
        if command.argv[0] == sys.executable:
            return Completed(command, self._answer[0], self._answer[1], "", 0.1)
        return super().run(command)


@pytest.mark.processes
def test_without_the_library_nvidia_smi_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "timeout").symlink_to(shutil.which("timeout") or "")
    monkeypatch.setenv("PATH", str(tmp_path))
    collector = GpusCollector(Target(Told(nvml.NO_LIBRARY, ""), Silent()), nvml=True)
    assert collector.period == NVML_PERIOD
    assert [one.value for one in collector.read()] == [0]
    assert collector.period == SMI_PERIOD


def test_a_damaged_reading_is_a_failure() -> None:
    for text in ("", "null", "[]", '{"driver": 1, "gpus": [{}]}'):
        with pytest.raises(HostCommandFailed):
            GpusCollector(Target(Told(0, text), Silent()), nvml=True).read()
