"""The host, or the unit's cgroup, ran out of memory and something was killed for it."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.kernel_oom import KILLED
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_CHOSEN = re.compile(
    r"oom-kill:constraint=(?P<constraint>\w{1,40}),.{0,4000}?task_memcg=(?P<cgroup>[^,]{1,4000}),task=(?P<name>.{1,64}?),pid="
)
_OLD = re.compile(r"(?:Out of memory|Memory cgroup out of memory): Kill process \d{1,10} \((?P<name>.{1,64}?)\)")
_INVOKED = re.compile(r"^(?P<name>.{1,64}?) invoked oom-killer", re.MULTILINE)
_LIMIT = re.compile(r"memory: usage \d{1,20}kB, limit (?P<limit>\d{1,20})kB")
_HELD = re.compile(r"anon-rss:(?P<anon>\d{1,20})kB(?:, file-rss:\d{1,20}kB)?(?:, shmem-rss:(?P<shared>\d{1,20})kB)?")
# src/oom/oomd-util.c: systemd-oomd acts before the kernel has to
_OOMD = re.compile(r"Killed (?P<cgroup>/\S{1,4000}) due to (?:memory (?:pressure|used)|swap used)")
_GIB = 1 << 20  # in kB

_FIXES_HOST = (
    "Find what holds the memory: ps -eo rss,args --sort=-rss, and /dev/shm (df -h /dev/shm), which counts too.",
    "Give the host more memory, or load with fewer threads and without CPU offload.",
)
_FIXES_CGROUP = ("Raise the unit's MemoryMax= (or the container's limit).", _FIXES_HOST[1])


def match(context: Context) -> Finding | None:
    """The OOM killer's report; the process that asked for memory is not the one that is to blame."""
    if context.block.origin is not Origin.KERNEL:
        return None
    killed, chosen, old = (context.search(pattern) for pattern in (KILLED, _CHOSEN, _OLD))
    name = next((found["name"] for found in (killed, chosen, old) if found), None)
    if name is None:
        return None
    in_cgroup = bool(killed and "cgroup" in (killed["scope"] or "")) or bool(chosen and "MEMCG" in chosen["constraint"])
    unit = unit_of(chosen["cgroup"]) if chosen else None
    victim = f"process {context.block.subjects[0]} ({name})" if context.block.subjects else f"a process ({name})"
    return Finding(
        kind=Kind.HOST_OOM,
        title=f"The kernel's OOM killer ended {name}" + (f" of {unit}" if unit else ""),
        cause=(
            f"{_why(context, in_cgroup=in_cgroup, unit=unit)}; the kernel killed {victim}{_held(context)}{_asked(context, name)}."
        ),
        fixes=_FIXES_CGROUP if in_cgroup else _FIXES_HOST,
        confidence=Confidence.CERTAIN,
    )


def match_line(text: str) -> Finding | None:
    """systemd-oomd's word."""
    found = _OOMD.match(text)
    if found is None:
        return None
    unit = unit_of(found["cgroup"]) or found["cgroup"]
    return Finding(
        kind=Kind.HOST_OOM,
        title=f"systemd-oomd ended {unit}",
        cause=f"The host was short of memory, and systemd-oomd killed all of {unit} before the kernel had to.",
        fixes=("Keep it away from this unit (ManagedOOMPreference=avoid), or give the host more memory.",),
        confidence=Confidence.CERTAIN,
    )


def unit_of(cgroup: str) -> str | None:
    """`/system.slice/x.service/sub`: x.service."""
    return next((part for part in reversed(cgroup.split("/")) if part.endswith((".service", ".scope"))), None)


def _why(context: Context, *, in_cgroup: bool, unit: str | None) -> str:
    if not in_cgroup:
        return "The host ran out of memory"
    limit = context.search(_LIMIT)
    size = f" of {_size(int(limit['limit']))}" if limit else ""
    return f"{unit or 'A control group'} reached its memory limit{size}"


def _held(context: Context) -> str:
    held = context.search(_HELD)
    return f", which held {_size(int(held['anon']) + int(held['shared'] or 0))}" if held else ""


def _asked(context: Context, victim: str) -> str:
    asked = _INVOKED.search(context.block.text)
    return f"; {asked['name']} had asked for memory" if asked and asked["name"] != victim else ""


def _size(kilobytes: int) -> str:
    return f"{kilobytes / _GIB:.1f} GiB" if kilobytes >= _GIB else f"{kilobytes / 1024:.0f} MiB"


SIGNATURE = Signature(match, match_line, literals=("due to memory ", "due to swap used"))
