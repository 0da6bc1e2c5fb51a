"""What the kernel says beside a run: whose failure it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.report.entries import triage_bytes

RECORDED = Path(__file__).parent.parent / "cases" / "recorded"
SEGFAULT = "{name}[{pid}]: segfault at 0 ip 00007f3b9ca9b219 sp 00007ffdf6cc9558 error 4 in libc.so.6[7f3b9c96b000+156000]"
KILL = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/system.slice/{unit},task=python3,pid={pid},uid=0"
XID = "NVRM: Xid (PCI:0000:1b:00): {number}, pid=9, name=python3, Ch 00000008"


def with_kernel_line(name: str, text: str) -> list[tuple[str, str]]:
    """Role and kind of each failure, with a line of the kernel right before the first traceback (or in the middle)."""
    rows: list[dict[str, Any]] = [json.loads(line) for line in (RECORDED / name / "journal.jsonl").read_text().splitlines()]
    found = (number for number, row in enumerate(rows) if "Traceback" in str(row["MESSAGE"]))
    at = next(found, len(rows) // 2)
    kept = {key: rows[at][key] for key in ("__REALTIME_TIMESTAMP", "__MONOTONIC_TIMESTAMP", "_BOOT_ID", "_HOSTNAME")}
    rows.insert(at, {**kept, "_TRANSPORT": "kernel", "MESSAGE": text})
    report = triage_bytes(["".join(json.dumps(row) + "\n" for row in rows).encode()])
    return [(item.role.value, item.kind.value) for item in report.failures]


@pytest.mark.parametrize(
    "text",
    [
        SEGFAULT.format(name="cron", pid=77),
        KILL.format(unit="other.service", pid=77),
        XID.format(number=43),
        XID.format(number=45),
        "I/O error, dev sdb, sector 1 op 0x0:(READ)",
    ],
)
def test_another_programs_end_and_weak_signs_are_noise(text: str) -> None:
    (root, noise) = with_kernel_line("tp2_ddtree_shape", text)
    assert root == ("root", "graph_token_count_mismatch")
    assert noise[0] == "noise"


def test_a_lost_gpu_and_a_kill_of_this_unit_are_the_root() -> None:
    assert with_kernel_line("tp2_rank1_raise", XID.format(number=79))[0] == ("root", "gpu_lost")
    assert with_kernel_line("tp2_rank1_raise", KILL.format(unit="ddtree-server.service", pid=77))[0] == ("root", "host_oom")


def test_a_server_that_goes_on_has_not_failed() -> None:
    for text in (SEGFAULT.format(name="cron", pid=77), KILL.format(unit="other.service", pid=77)):
        assert [role for role, _ in with_kernel_line("dflash_ok", text)] == ["noise"]
