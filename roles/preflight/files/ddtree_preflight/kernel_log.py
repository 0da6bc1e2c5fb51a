"""The kernel's log since the boot: what the driver and the memory killer have said."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .catalogue import finding
from .finding import NOTE, WARNING, Finding, listed, one_line
from .running import Answer

# The last of them: a driver in trouble writes thousands of lines, and the newest count.
COMMAND = ("journalctl", "--dmesg", "--boot", "--quiet", "--no-pager", "--lines=20000", "--output=short-unix", "--no-hostname")
SECONDS = 5.0
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]{1,20})\): ([0-9]{1,5}),? ?(.{0,200})")
_OOM = re.compile(r"oom-kill:constraint=(CONSTRAINT_[A-Z]{1,20}),.{0,600}?task=([^,]{1,64}),pid=([0-9]{1,9})")
_OURS = ("sglang", "python", "ddtree")
# A program's own fault, mostly: illegal address, bad instructions, a channel that its process left (NVIDIA's Xid catalogue).
_APPLICATION = frozenset({13, 31, 43, 45, 68, 69, 137})
_CTA = "CTA Not Present"


def check(answer: Answer, strange_gpu: bool) -> Iterator[Finding]:
    """Xids, one finding for each number; processes that were killed. `strange_gpu`: the GPUs are sm_103."""
    if answer.status != 0:
        return
    yield from _xids(answer, strange_gpu)
    yield from _kills(answer)


def _xids(answer: Answer, sm_103: bool) -> Iterator[Finding]:
    seen: dict[int, list[re.Match[str]]] = {}
    for line in answer.out.splitlines():
        found = _XID.search(line) if "NVRM: Xid" in line else None
        if found:
            seen.setdefault(int(found[2]), []).append(found)
    for number, all_of_it in sorted(seen.items()):
        last = all_of_it[-1]
        buses = sorted({one[1] for one in all_of_it})
        text = f"Xid {number} {len(all_of_it)} times on {listed(buses, 4)}: {one_line(last[3], 120)}"
        tgv = number == 13 and sm_103 and any(_CTA in one[3] for one in all_of_it)
        severity = WARNING if tgv or number not in _APPLICATION else NOTE
        fix = "--bf16-gemm-backend torch: a kernel for bf16 on sm_103 has no exit barrier (sgl#34340)" if tgv else ""
        evidence = [f"journalctl -k -b: {last[0]}"]
        yield finding("xid_since_boot", text, "no Xid", severity=severity, fix=fix, evidence=evidence)


def _kills(answer: Answer) -> Iterator[Finding]:
    kills = [found for line in answer.out.splitlines() if "oom-kill:" in line and (found := _OOM.search(line))]
    # A container's or a unit's own limit is its own affair, unless it was a server of this kind.
    grave = [one for one in kills if one[1] == "CONSTRAINT_NONE" or one[2].startswith(_OURS)]
    if kills:
        shown = grave or kills
        names = sorted({one[2] for one in shown})
        text = f"{len(shown)} processes were killed for lack of memory: {listed(names, 5)}"
        severity = WARNING if grave else NOTE
        yield finding("oom_kill", text, "none since the boot", severity=severity, evidence=[f"journalctl -k -b: {shown[-1][0]}"])
