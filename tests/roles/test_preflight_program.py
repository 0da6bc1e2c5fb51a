"""Role preflight's program on this machine, run as the role runs it: from standard input. Its findings: test_preflight_cases."""

from __future__ import annotations

import ast
import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from ddtree_ops.fleet import host_program
from ddtree_preflight import fatbin, gpu_health, gpu_processes, smi
from ddtree_preflight.aside import Aside
from ddtree_preflight.catalogue import BY_ID, finding
from ddtree_preflight.finding import Finding, merged, one_line
from ddtree_preflight.host import Host
from ddtree_preflight.main import Look
from ddtree_preflight.running import Running
from ddtree_preflight.wanted import Wanted, version_of

SMI = Path(__file__).with_name("smi")
ROLE = Path(__file__).resolve().parents[2] / "roles" / "preflight"
CARD = "0, NVIDIA B300 SXM6 AC, 275040, 10.3, 580.95.05"
B300 = {"count": 8, "names": ["NVIDIA B300 SXM6 AC"], "memory_mib": 275040, "compute_cap": "10.3"}


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


def look(tmp_path: Path, **changes: Any) -> dict[str, dict[str, Any]]:
    """Errors by check, for a host where all is well but for the changes."""
    want = {
        "gpus": B300,
        "python": sys.executable,
        "root": str(tmp_path / "not" / "there" / "yet"),
        "release": "lab-a",
        "free_mib": 1,
        "port": 1,
        "now": time.time(),
    } | changes
    argv = (sys.executable, "-I", "-S", "-", json.dumps(want))
    done = subprocess.run(argv, input=host_program.preflight(), capture_output=True, check=True, timeout=30, text=True)
    assert done.stderr == ""
    found = json.loads(done.stdout)["findings"]
    assert {one["check"] for one in found} <= BY_ID.keys()
    return {one["check"]: one for one in found if one["severity"] == "error"}


@pytest.mark.processes
def test_a_host_where_all_is_well_has_no_errors(tmp_path: Path, gpus: Path) -> None:
    assert look(tmp_path) == {}


@pytest.mark.processes
def test_everything_wrong_is_reported_together(tmp_path: Path, gpus: Path) -> None:
    gpus.write_text(f"{CARD}\n" * 7)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        found = look(tmp_path, python="/none", free_mib=10**9, now=time.time() + 900, port=port)
    assert set(found) == {"gpus", "python", "disk", "clock", "port"}
    assert found["gpus"]["found"] == "7 GPUs: index 0, 0, 0, 0, 0, 0, 0"
    assert f"port {port} is taken by pid {os.getpid()} " in found["port"]["found"]
    assert all(one["fix"] and one["evidence"] for one in found.values())


@pytest.mark.processes
def test_a_python_without_venv(tmp_path: Path, gpus: Path) -> None:
    bare = tmp_path / "python"
    without = "import sys; sys.modules['venv'] = None; exec(sys.argv[1])"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{without}" "$2"\n')
    bare.chmod(0o755)
    assert "it lacks venv" in look(tmp_path, python=str(bare))["python"]["found"]


def test_the_role_sends_the_modules_that_the_look_sends() -> None:
    variables = yaml.safe_load((ROLE / "vars" / "main.yml").read_text())
    assert tuple(variables["preflight_modules"]) == host_program.MODULES
    assert {path.stem for path in (ROLE / "files" / "ddtree_preflight").glob("*.py")} == {*host_program.MODULES, "__init__"}


def test_hosts_may_have_python_3_9() -> None:
    for path in (ROLE / "files").rglob("ddtree_preflight/*.py"):
        ast.parse(path.read_text(), feature_version=(3, 9))


@pytest.mark.processes
def test_a_program_that_hangs_is_given_up() -> None:
    begun = time.monotonic()
    answer = Running(("sh", "-c", "echo begun; exec sleep 600"), 0.3).answer()
    assert (answer.status, answer.out) == (124, "no answer in 0 s")
    assert time.monotonic() - begun < 60
    assert Running(("/none",), 1).answer().status == 127
    assert Running(("sh", "-c", "echo out; echo err >&2; exit 7"), 10).answer().out == "out\nerr\n"


@pytest.mark.processes
def test_a_program_that_never_ends_to_talk_is_stopped() -> None:
    answer = Running(("sh", "-c", "exec yes"), 20).answer()
    assert answer.status != 0
    assert len(answer.out) < 10 << 20


@pytest.mark.processes
def test_work_that_hangs_is_left_behind() -> None:
    slow = Aside(lambda: time.sleep(60), seconds=0.2)
    assert slow.answer() == {"problem": "no answer in 0 s"}
    assert Aside(lambda: [1, "ä"]).answer() == {"value": [1, "ä"]}
    assert Aside(lambda: 1 / 0).answer() == {"problem": "ZeroDivisionError: division by zero"}


@pytest.mark.processes
def test_what_hangs_or_fails_hides_nothing_else(tmp_path: Path) -> None:
    class Broken(Host):
        def names(self, directory: str) -> list[str]:
            raise RuntimeError("no \x1b names")

    want = Wanted(sys.executable, "/opt", "x", 1, 1, time.time() + 900)
    found = {one.check: one for one in Look(want, Broken()).run()}
    assert "clock" in found
    assert "RuntimeError: no names" in found["preflight"].found


def test_the_same_of_several_gpus_is_said_once() -> None:
    rows = [Finding("bar1", "warning", f"BAR1 of GPU {n} is 256 MiB", "more", "fix", (f"gpu {n}",)) for n in range(12)]
    other = Finding("bar1", "warning", "BAR1 of GPU 12 is 128 MiB", "more", "fix")
    several = Finding("gpus", "error", "8 GPUs: GPU 1, GPU 2", "x", "y")
    found = merged([*rows, other, several])
    assert [one.found for one in found] == [
        "BAR1 of GPU 0, 1, 2, 3, 4, 5, 6, 7 and 4 more is 256 MiB",
        "BAR1 of GPU 12 is 128 MiB",
        "8 GPUs: GPU 1, GPU 2",
    ]
    assert len(found[0].evidence) == 10


def test_findings_are_of_known_kinds_and_severities() -> None:
    with pytest.raises(KeyError):
        finding("other", "x", "y")
    with pytest.raises(ValueError, match="gpus is never a note"):
        finding("gpus", "x", "y", severity="note")
    assert one_line("a\x1b[31m\n\u202eb" * 1000) == ("a[31m b" * 1000)[:300]
    assert [version_of(text) for text in ("13.0.96", "13", "", "x.y", "²." * 2, "1" * 9 + ".0")] == [(13, 0), *[None] * 5]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No devices were found",
        "<nvidia_smi_log>",
        '<!DOCTYPE x [<!ENTITY a "b">]><nvidia_smi_log>&a;</nvidia_smi_log>',
        "\x00" * 99,
    ],
)
def test_what_is_no_report(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        smi.report(text)


def test_what_a_real_h200_says() -> None:
    """Recorded from nvidia-smi 580.159.04; serial numbers and most clocks left out. Each name that a check asks for is there."""
    real = smi.report((SMI / "h200-580.159.04.xml").read_text())
    (gpu,) = real.gpus
    assert (real.driver, real.cuda, gpu.bus, gpu.text("product_name")) == (
        "580.159.04",
        "13.0",
        "00000000:00:06.0",
        "NVIDIA H200",
    )
    assert [gpu.number(f"fb_memory_usage/{name}") for name in ("total", "reserved", "used")] == [143771, 616, 0]
    assert list(gpu_health.check(real, daemon_runs=False)) == []
    assert list(gpu_processes.check(None, real, None, Host())) == []
    written = "".join(path.read_text() for path in (ROLE / "files" / "ddtree_preflight").glob("*.py"))
    old = {"gpu_reset_status/reset_required"}
    paths = set(re.findall(r'"((?:[a-z_]+/)+[a-z_]+)"', written)) - old
    assert len(paths) > 15
    named = gpu.values.keys() | {"/".join(path.split("/")[:2]) for path in gpu.values} | {"processes/process_info"}
    assert paths - named == set()
    assert (
        smi.matrix((SMI / "h200-p2p.txt").read_text())
        == smi.matrix((SMI / "h200-topo.txt").read_text())
        == {("GPU0", "GPU0"): "X"}
    )


def test_forms_that_nvidia_smi_has() -> None:
    head = "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
    rows = "GPU0\t X \tNV18\tPXB\t0-55\t0\nGPU1\tNV18\t X \tSYS\t0-55\t0\nNIC0\tPXB\tSYS\t X\n"
    assert smi.matrix(head + rows) == {
        ("GPU0", "GPU0"): "X",
        ("GPU0", "GPU1"): "NV18",
        ("GPU1", "GPU0"): "NV18",
        ("GPU1", "GPU1"): "X",
    }
    peers = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tGNS\tX\t\n\nLegend:\n\n  X    = Self\n"
    assert smi.matrix(peers)["GPU1", "GPU0"] == "GNS"
    links = "GPU 0: NVIDIA B200 (UUID: GPU-1)\n\t Link 0: 53.125 GB/s\n\t Link 1: <inactive>\nGPU 1: NVIDIA B200 (UUID: GPU-2)\n"
    assert smi.links(links) == {"GPU 0": {0: "53.125 GB/s", 1: "<inactive>"}, "GPU 1": {}}


@pytest.mark.parametrize("content", [b"", b"\x7fELF" * 30, b"\x7fELF\x02\x01" + b"\xff" * 200, b"\x7fELF\x02\x01" + bytes(200)])
def test_a_library_that_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.so"
    path.write_bytes(content)
    with suppress(ValueError):
        assert fatbin.code(str(path)) == frozenset()
