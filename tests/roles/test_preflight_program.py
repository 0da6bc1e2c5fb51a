"""roles/preflight/files/preflight.py, run as the role runs it: as a program from standard input."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "roles" / "preflight" / "files" / "preflight.py"
CARD = "NVIDIA B300 SXM6 AC, 275040, 10.3"


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
        "gpus": {"count": 8, "name": "NVIDIA B300 SXM6 AC", "memory_mib": 275040, "compute_cap": "10.3"},
        "python": sys.executable,
        "root": str(tmp_path / "not" / "there" / "yet"),
        "release": "lab-a",
        "free_mib": 1,
        "paths": [str(tmp_path)],
        "port": 1,
        "systemd": 1,
        "now": time.time(),
        "skew_s": 60,
    } | changes
    done = subprocess.run(
        (sys.executable, "-", json.dumps(want)), stdin=PROGRAM.open(), capture_output=True, check=True, timeout=30
    )
    return {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_a_host_where_all_is_well_has_no_findings(tmp_path: Path, gpus: Path) -> None:
    assert look(tmp_path) == {}


def test_memory_may_differ_by_what_a_driver_reserves(tmp_path: Path, gpus: Path) -> None:
    gpus.write_text("NVIDIA B300 SXM6 AC, 274000, 10.3\n" * 8)
    assert look(tmp_path) == {}


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (f"{CARD}\n" * 7, "7 GPUs"),
        (f"{CARD}\n" * 7 + "NVIDIA B300 SXM6 AC, 183359, 10.3\n", "8 GPUs, of which differ: NVIDIA B300 SXM6 AC, 183359, 10.3"),
        ("\x1b[31mevil, 1, 10.3\n", "1 GPUs, of which differ: [31mevil, 1, 10.3"),
        ("", "0 GPUs"),
    ],
)
def test_other_gpus_than_the_profile_says(tmp_path: Path, gpus: Path, rows: str, found: str) -> None:
    gpus.write_text(rows)
    finding = look(tmp_path)["gpus"]
    assert finding["found"] == found
    assert finding["expected"] == "8 x NVIDIA B300 SXM6 AC, 275040 MiB, compute capability 10.3"


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
    findings = look(tmp_path, python="/none", paths=["/none/model"], now=time.time() + 900, systemd=10**6)
    assert set(findings) == {"python", "model", "clock", "systemd"}
    assert findings["clock"]["found"].endswith("behind the controller's")
    assert all(finding["fix"] for finding in findings.values())
