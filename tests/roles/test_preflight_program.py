"""roles/preflight/files/preflight.py, run as the role runs it: as a program from standard input."""

from __future__ import annotations

import json
import os
import runpy
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "preflight" / "files" / "preflight.py"
CARD = "0, NVIDIA B300 SXM6 AC, 275040, 10.3"


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An nvidia-smi on PATH that prints this file; eight B300 unless a test writes something else."""
    rows = tmp_path / "rows"
    rows.write_text(f"{CARD}\n" * 8)
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec cat {rows}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return rows


def look(tmp_path: Path, **changes: Any) -> dict[str, dict[str, str]]:
    """Findings by check, for a host where all is well but for the changes."""
    want = {
        "gpus": {"count": 8, "names": ["NVIDIA B30Z", "NVIDIA B300 SXM6 AC"], "memory_mib": 275040, "compute_cap": "10.3"},
        "python": sys.executable,
        "root": str(tmp_path / "not" / "there" / "yet"),
        "release": "lab-a",
        "free_mib": 1,
        "port": 1,
        "now": time.time(),
    } | changes
    done = subprocess.run(
        (sys.executable, "-", json.dumps(want)), stdin=PROGRAM.open(), capture_output=True, check=True, timeout=30
    )
    return {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_a_host_where_all_is_well_has_no_findings(tmp_path: Path, gpus: Path) -> None:
    assert look(tmp_path) == {}


def test_memory_may_differ_by_what_a_driver_reserves(tmp_path: Path, gpus: Path) -> None:
    gpus.write_text("0, NVIDIA B300 SXM6 AC, 270000, 10.3\n" * 8)
    assert look(tmp_path) == {}
    gpus.write_text("0, NVIDIA B300 SXM6 AC, 269000, 10.3\n" * 8)
    assert set(look(tmp_path)) == {"gpus"}


def test_any_name_of_the_profile_is_right(tmp_path: Path, gpus: Path) -> None:
    gpus.write_text("0, NVIDIA B30Z, 275040, 10.3\n" * 8)
    assert look(tmp_path) == {}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (f"{CARD}\n" * 2, "2 GPUs: index 0, 0"),
        (f"{CARD}\n" * 7 + "7, NVIDIA B300 SXM6 AC, 1, 10.3\n", "8 GPUs, of which differ: 7, NVIDIA B300 SXM6 AC, 1, 10.3"),
        ("0, \x1b[31mevil, 1, 10.3\n", "1 GPUs, of which differ: 0, [31mevil, 1, 10.3"),
        ("", "0 GPUs: none"),
    ],
)
def test_other_gpus_than_the_profile_says(tmp_path: Path, gpus: Path, rows: str, found: str) -> None:
    gpus.write_text(rows)
    finding = look(tmp_path)["gpus"]
    assert finding["found"] == found
    assert finding["expected"] == "8 x NVIDIA B30Z or NVIDIA B300 SXM6 AC, 275040 MiB, compute capability 10.3"


def test_an_nvidia_smi_that_hangs_is_a_finding_soon(tmp_path: Path, gpus: Path) -> None:
    (gpus.parent / "bin" / "nvidia-smi").write_text("#!/bin/sh\nexec sleep 60\n")
    hasty = tmp_path / "hasty.py"
    hasty.write_text(PROGRAM.read_text().replace("PROGRAM_TIMEOUT_S = 15.0", "PROGRAM_TIMEOUT_S = 1.0"))
    assert runpy.run_path(str(hasty))["run"]("nvidia-smi") == (124, "no answer in 1 s")


def test_the_port_may_be_our_own_units(tmp_path: Path) -> None:
    names: dict[str, Any] = runpy.run_path(str(PROGRAM))
    unit = "ddtree-server@30000.service"
    ours = "0::/system.slice/system-ddtree\\x2dserver.slice/ddtree-server@30000.service\n"
    assert names["is_of_unit"](ours, unit)
    assert names["is_of_unit"](f"5:devices:/\n1:name=systemd:/system.slice/{unit}/below\n", unit)
    assert not names["is_of_unit"](f"0::/system.slice/not-{unit}\n", unit)
    assert not names["is_of_unit"]("0::/user.slice/session-1.scope\n", unit)


def test_a_python_without_venv(tmp_path: Path, gpus: Path) -> None:
    bare = tmp_path / "python"
    without = "import sys; sys.modules['venv'] = None; exec(sys.argv[1])"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{without}" "$2"\n')
    bare.chmod(0o755)
    assert "it lacks venv" in look(tmp_path, python=str(bare))["python"]["found"]


def test_a_port_that_somebody_else_has(tmp_path: Path, gpus: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        finding = look(tmp_path, port=port)["port"]
    assert f"port {port} is taken by pid {os.getpid()} " in finding["found"]


def test_a_staged_release_needs_no_more_space(tmp_path: Path, gpus: Path) -> None:
    assert "disk" in look(tmp_path, root=str(tmp_path), free_mib=10**9)
    manifest = tmp_path / "releases" / "lab-a" / "manifest.json"
    manifest.parent.mkdir(parents=True)
    manifest.touch()
    assert look(tmp_path, root=str(tmp_path), free_mib=10**9) == {}


def test_everything_wrong_is_reported_together(tmp_path: Path, gpus: Path) -> None:
    findings = look(tmp_path, python="/none", free_mib=10**9, now=time.time() + 900)
    assert set(findings) == {"python", "disk", "clock"}
    assert findings["clock"]["found"].endswith("behind the controller's")
    assert all(finding["fix"] for finding in findings.values())
