"""The kernel's log: every Xid and every killed process is counted once, whoever was killed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.exporter.collectors.kernel import samples
from ddtree_ops.exporter.kernel import one_pass as kernel_pass
from ddtree_ops.exporter.kernel.lines import Victims, read_xid
from ddtree_ops.ports import Command, Completed
from ddtree_ops.triage.entry import JournalEntry
from tests.exporter.journal_story import Story, StoryShell

SERVER = r"/system.slice/system-ddtree\x2dserver.slice/ddtree-server@30000.service"
LINES = (
    "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "NVRM: GPU at PCI:0000:41:00: GPU-11111111-2222-3333-4444-555555555555",
    "NVRM: Xid (PCI:0000:c1:00): 45, pid=811, name=python3, Ch 00000008, caused by previous Xid 31",
    "NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
    "python3 invoked oom-killer: gfp_mask=0x140cca(GFP_HIGHUSER_MOVABLE|__GFP_COMP), order=0, oom_score_adj=0",
    f"oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg={SERVER},task=python3,pid=21284,uid=990",
    "Out of memory: Killed process 21284 (python3) total-vm:1kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB, UID:990 pgtables:1kB",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/user.slice,task_memcg=/user.slice/x,task=sglang::fake,pid=5,uid=0",
    "Memory cgroup out of memory: Killed process 5 (sglang::fake) total-vm:1kB",
    "oom_reaper: reaped process 5 (sglang::fake), now anon-rss:0kB",
    "Out of memory: Killed process 77 (sglang::schedul) total-vm:1kB",
    f"Tasks in {SERVER} are going to be killed due to memory.oom.group set",
    "Memory cgroup out of memory: Killed process 78 (python3) total-vm:1kB",
    "Memory cgroup out of memory: Killed process 79 (ninja) total-vm:1kB",
    "cron invoked oom-killer: gfp_mask=0x0",
    "Out of memory: Kill process 80 (cc1plus) score 900 or sacrifice child",
    "Killed process 80 (cc1plus) total-vm:1kB, anon-rss:1kB",
)
EXPECTED: dict[str, Any] = {
    "xids": [["1", "45", 1], ["3", "79", 2], ["0000:c4:00", "S12028", 1]],
    "killed": {"server": 4, "other": 2},
}


class KernelShell(StoryShell):
    def run(self, command: Command) -> Completed:
        said = {"nvidia-smi": "3, 00000000:41:00.0\n1, 00000000:C1:00.0\nNo devices, at all\n", "cat": "boot-1\n"}
        self.asked.append(command.argv)
        return Completed(command, 0, said[command.argv[0]], "", 0.0)


def log() -> list[JournalEntry]:
    story = Story()
    story.begin("dflash_ok", "Load weight")
    start = len(story.entries)
    for number, line in enumerate(LINES):
        story.kernel(f"usb 1-1: new device number {number}")
        story.kernel(line)
        story.at += 1_000_000
    return story.entries[start:]


def told(directory: Path) -> dict[str, Any]:
    data = json.loads((directory / "kernel.json").read_text())
    return {"xids": sorted((item[:3] for item in data["xids"]), key=lambda item: item[1]), "killed": data["killed"]}


@pytest.mark.parametrize("seed", range(5))
def test_any_split_counts_each_line_once(seed: int, tmp_path: Path) -> None:
    rolled, entries = random.Random(seed), log()  # noqa: S311
    shell = KernelShell(entries, visible=0 if seed else None)
    while shell.visible is not None and shell.visible < len(entries):
        shell.visible = min(len(entries), shell.visible + rolled.choice((1, 2, 9)))
        kernel_pass.run(shell, tmp_path)
    kernel_pass.run(shell, tmp_path)
    shell.oldest = len(entries) - rolled.randrange(0, 5)  # rotated away, up to after the last line
    kernel_pass.run(shell, tmp_path)
    assert told(tmp_path) == {**EXPECTED, "xids": sorted(EXPECTED["xids"], key=lambda item: item[1])}
    assert sum(argv[0] == "nvidia-smi" for argv in shell.asked) == 1  # once a boot, not for each Xid


def test_a_damaged_state_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "kernel.json").write_text('{"format":1}')
    kernel_pass.run(KernelShell(log()), tmp_path)
    assert (tmp_path / "kernel.json.aside").exists()


def test_series_are_bounded_and_samples_are_as_the_catalogue_has_them(tmp_path: Path) -> None:
    story = Story()
    story.begin("dflash_ok", "Load weight")
    for number in range(400):
        story.kernel(f"NVRM: Xid (PCI:{number:04x}:00:00): 13, pid=1, name=x, y")
    kernel_pass.run(KernelShell(story.entries), tmp_path)
    found = list(samples(json.loads((tmp_path / "kernel.json").read_text())))
    for name in {one.metric.name for one in found}:
        assert sum(one.metric.name == name for one in found) <= next(one for one in found if one.metric.name == name).metric.most
    assert sum(one.value for one in found if one.metric.name.endswith("xid_errors_total")) == 400


def test_only_the_driver_and_the_kernel_are_believed() -> None:
    assert read_xid("python3: NVRM: Xid (PCI:0000:41:00): 79, x") is None
    assert Victims().take("foo " * 40 + "Killed process 1 (x)") is None


def test_an_xid_counts_whatever_stands_for_the_gpu() -> None:
    said = {
        written: read_xid(f"NVRM: Xid (PCI:{written}): 79, x") for written in ("0000:41:00", "41:00.0", "10000:41:00", "ABCD.9")
    }
    assert [xid and xid.pci for xid in said.values()] == ["0000:41:00", "0000:41:00", "10000:41:00", "abcd.9"]
