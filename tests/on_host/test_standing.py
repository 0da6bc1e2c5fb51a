"""The lock's holder and the dead-man's orders, with real locks and this machine's own clock."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ddtree_ops.on_host import standing

HOLDER = {"user": "ada", "controller": "laptop", "pid": 7, "command": "deploy", "since": "2026-11-30T01:02:03Z"}


def test_a_lock_counts_only_while_somebody_holds_it(tmp_path: Path) -> None:
    assert standing.lock(str(tmp_path)) is None
    (tmp_path / "lock").write_text(json.dumps(HOLDER))
    assert standing.lock(str(tmp_path)) is None
    with (tmp_path / "lock").open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        assert standing.lock(str(tmp_path)) == HOLDER
        (tmp_path / "lock").write_text("torn {")
        assert standing.lock(str(tmp_path)) == {}
    assert standing.lock(str(tmp_path)) is None


def test_the_look_never_keeps_a_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    standing.lock(str(tmp_path))
    with (tmp_path / "lock").open() as stream:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)


def orders(tmp_path: Path, boot: str) -> float | None:
    deadline = time.clock_gettime(time.CLOCK_BOOTTIME) + 100
    (tmp_path / "deadman.json").write_text(json.dumps({"release": "lab-b", "deadline": deadline, "boot_id": boot}))
    found = standing.dead_man(str(tmp_path))
    assert found is not None
    assert found["release"] == "lab-b"
    left = found["seconds_left"]
    assert left is None or isinstance(left, float)
    return left


def test_seconds_left_are_of_this_boot(tmp_path: Path) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for same in (boot, boot.replace("-", "")):
        left = orders(tmp_path, same)
        assert left is not None
        assert 90 < left <= 100
    assert orders(tmp_path, "0" * 32) is None


def test_orders_that_are_torn_are_orders_still(tmp_path: Path) -> None:
    assert standing.dead_man(str(tmp_path)) is None
    (tmp_path / "deadman.json").write_text('{"rel')
    assert standing.dead_man(str(tmp_path)) == {"seconds_left": None}


@pytest.mark.parametrize("deadline", ["1" + "0" * 400, "1e999", "NaN", '"x"', "[]", "true"])
def test_odd_deadlines(tmp_path: Path, deadline: str) -> None:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    (tmp_path / "deadman.json").write_text(f'{{"release": "a", "boot_id": "{boot}", "deadline": {deadline}}}')
    found = standing.dead_man(str(tmp_path))
    assert found is not None
    assert found["seconds_left"] is None or deadline == "true"


@pytest.mark.processes
@pytest.mark.parametrize("name", ["lock", "deadman.json", "releases/a/manifest.json", "releases/a/server.json"])
@pytest.mark.parametrize("kind", ["fifo", "directory", "device", "loop"])
def test_what_is_no_file_keeps_nobody_waiting(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.symlink_to(path)
    program = (
        "import sys\nfrom ddtree_ops.on_host import releases, standing\nplace = sys.argv[1]\n"
        "print(standing.lock(place), standing.dead_man(place), releases.manifests(place), releases.settings(place, 'a'))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True)
    orders = "{'seconds_left': None}" if name == "deadman.json" else "None"
    there = "{'a': None}" if name.startswith("releases") else "{}"
    assert done.stdout.strip() == f"None {orders} {there} None"


def test_the_last_boots_come_whole(tmp_path: Path) -> None:
    assert standing.boots(str(tmp_path), 30000) == []
    (tmp_path / "boots").mkdir()
    history = tmp_path / "boots" / "30000.jsonl"
    lines = [json.dumps({"number": number, "pad": "x" * 9000}) for number in range(20)]
    history.write_text("\n".join(lines) + "\n")
    assert standing.boots(str(tmp_path), 30000) == lines[-7:]  # the eighth is cut, 64 KiB before the end
    history.write_text("short\n" * 20)
    assert standing.boots(str(tmp_path), 30000) == ["short"] * 8
    history.unlink()
    os.mkfifo(history)
    assert standing.boots(str(tmp_path), 30000) == []
