"""What a rank writes of its GPU's memory is for every user's nvidia-smi, whatever the service's umask."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulator.server import SOURCE

pytestmark = pytest.mark.processes

RANK = """\
import os, sys
sys.path.insert(0, sys.argv[1])
import gpu
gpu.STATE_DIRECTORY = sys.argv[2]
os.umask(0o077)
gpu.GpuMemory(3, 80.0).allocate(2.0)
print(os.getpid())
"""


def test_others_may_read_it(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", RANK, str(SOURCE / "sglang" / "simulation"), str(tmp_path))
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30)
    (written,) = tmp_path.iterdir()
    assert (written.name, written.read_text()) == ("3.used_mib", f"{done.stdout.strip()} 2048\n")
    assert written.stat().st_mode & 0o777 == 0o644
