"""The probe's supervision, with parts that hang, lie or die in place of torch; tests on GPUs run the real ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.fleet import preflight, probe
from ddtree_ops.fleet.finding import Severity
from ddtree_preflight.catalogue import BY_ID
from tests.fleet.hosts import RELEASE

pytestmark = pytest.mark.processes

FILES = Path(__file__).resolve().parents[2] / "roles" / "preflight" / "files"
# A part that does as the test's `behave` says; by default all is well on two GPUs.
PARTS = """
import json, os, subprocess, sys, time
part, want = sys.argv[1], json.loads(sys.argv[2])
say = lambda **facts: print(json.dumps(facts), flush=True)
print("a library's own words")
behave = json.loads(os.environ["BEHAVE"])
how = behave.get(part, behave.get(f"{part}{want.get('rank', '')}", ""))
if part == "versions":
    well = {"torch": "2.11.0", "gpus": 2, "sglang": "0.5.13.post1", "sgl_kernel": "0.4.3", "nccl": "2.28.9"}
    say(**{**well, **behave.get("facts", {})})
if how == "hang":
    child = subprocess.Popen(["sleep", "300"])
    say(child=child.pid)
    time.sleep(300)
if how == "die":
    sys.exit("CUDA error: \\x1b[31millegal access")
if part == "triton":
    say(right=how != "wrong")
if part == "rank":
    for size in want["sizes"]:
        if how == "hang late" and size > 8:
            time.sleep(300)
        say(bytes=size, right=how != "wrong", microseconds=9, gb_per_s=1.0)
"""


def run(tmp_path: Path, behave: dict[str, Any], **want: Any) -> dict[str, Any]:
    """The probe's whole answer."""
    shutil.copy(FILES / "probe.py", tmp_path)
    (tmp_path / "probe_parts.py").write_text(PARTS)
    wanted = {"seconds": 0.7, "sglang": "0.5.13.post1", "environment": {"BEHAVE": json.dumps(behave)}, "force": True} | want
    done = subprocess.run(
        (sys.executable, str(tmp_path / "probe.py"), json.dumps(wanted)), capture_output=True, check=True, timeout=30, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    assert {one["check"] for one in found["findings"]} <= BY_ID.keys()
    assert all(one["severity"] in BY_ID[one["check"]].severities for one in found["findings"])
    return found


def test_a_release_that_works(tmp_path: Path) -> None:
    found = run(tmp_path, {}, seconds=20)
    assert found["findings"] == []
    assert found["facts"]["collective"]["ranks"] == 2
    assert [line["bytes"] for line in found["facts"]["collective"]["rank_0"]] == [8, 524288, 33554432]


@pytest.mark.parametrize(
    ("behave", "check", "words"),
    [
        ({"rank1": "hang late"}, "p2p_functional", "an all-reduce of 524288 B over 2 ranks hangs (ranks 1)"),
        ({"rank": "wrong"}, "p2p_functional", "an all-reduce of 8 B over 2 ranks gives a wrong sum (ranks 0, 1)"),
        ({"rank": "die"}, "p2p_functional", "an all-reduce of 8 B over 2 ranks fails (ranks 0, 1)"),
        ({"facts": {"gpus": 0}}, "p2p_functional", "torch sees no GPU"),
        ({"triton": "die"}, "ptxas_arch", "no Triton kernel can be compiled"),
        ({"triton": "wrong"}, "ptxas_arch", "a Triton kernel of one line gives a wrong answer"),
        (
            {"facts": {"sgl_kernel_error": "ImportError: libnvrtc.so.12"}},
            "kernel_wheel",
            "can't be imported: ImportError: libnvrtc",
        ),
        ({"facts": {"sglang": "0.5.9"}}, "sglang_version", "sglang is 0.5.9"),
        ({"facts": {"nccl": "2.26.2"}}, "nccl_version", "NCCL 2.26.2"),
    ],
)
def test_what_does_not_work(tmp_path: Path, behave: dict[str, Any], check: str, words: str) -> None:
    (found,) = run(tmp_path, behave)["findings"]
    assert found["check"] == check
    assert words in found["found"]
    assert found["fix"]
    assert found["evidence"]
    assert "\x1b" not in json.dumps(found, ensure_ascii=False)


def test_what_hangs_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    begun = time.monotonic()
    found = run(tmp_path, {"triton": "hang"})
    assert [one["check"] for one in found["findings"]] == ["ptxas_arch"]
    assert "in 1 s" in found["findings"][0]["found"]
    assert time.monotonic() - begun < 100  # it hangs for 300
    stat = Path(f"/proc/{found['facts']['triton']['child']}/stat")
    assert not stat.exists() or stat.read_text().split()[2] == "Z"


def test_gpus_in_use_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text("#!/bin/sh\necho '0, 4'\necho '1, 90000'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(smi.parent), prepend=":")
    (found,) = run(tmp_path, {}, force=False)["findings"]
    assert (found["check"], found["severity"]) == ("probe", "warning")
    assert found["found"] == "not probed: 90000 MiB of GPU 1 are in use"


def test_the_command_takes_the_release_s_own_python_and_leaves_nothing() -> None:
    command = probe.command(RELEASE)
    assert command.argv[0] == f"/opt/ddtree/releases/{RELEASE.id}/venv/bin/python"
    assert max(map(len, command.argv)) < 100_000
    before = set(Path("/tmp").glob("ddtree-probe-*"))
    done = subprocess.run((sys.executable, *command.argv[1:]), capture_output=True, text=True, check=True, timeout=60)
    (found,) = preflight.parse(done.stdout, None)
    assert (found.id, found.severity) == ("probe", Severity.WARNING)
    assert "no torch" in found.message
    assert set(Path("/tmp").glob("ddtree-probe-*")) <= before
