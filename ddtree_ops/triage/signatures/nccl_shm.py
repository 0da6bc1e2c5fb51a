"""NCCL couldn't get its shared memory below /dev/shm: none left, gone, or not allowed."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# NCCL 2.7 (include/shm.h) to 2.28 (misc/shmutils.cc)
_SEGMENT = re.compile(
    r"Error while (?P<what>creating|attaching to) shared memory segment (?P<path>\S{1,200})(?: \(size (?P<size>\d{1,15})\))?"
    r"|failed to extend (?P<extended>/dev/shm/nccl\S{1,100})(?: to (?P<bytes>\d{1,15}) bytes)?"
    r"|Call to (?:posix_fallocate|shm_open|ftruncate) failed ?: "
)
_DENIED = re.compile(r"(?:shared memory segment|/dev/shm|shm_open).{0,200}?Permission denied", re.DOTALL)
_FULL = re.compile(r"(?:shared memory segment|/dev/shm|posix_fallocate).{0,200}?No space left on device", re.DOTALL)
_GONE = re.compile(r"attaching to shared memory segment.{0,200}|/dev/shm/nccl.{0,200}?No such file", re.DOTALL)


def match(context: Context) -> Finding | None:
    """NCCL's warnings, or `Last error:` in the exception."""
    found = context.search(_SEGMENT)
    if found is None:
        return None
    if context.search(_DENIED):
        return _denied()
    if context.search(_GONE) and not context.search(_FULL):
        return _gone()
    return _full(found, certain=context.search(_FULL) is not None)


def _denied() -> Finding:
    return Finding(
        kind=Kind.NCCL_SHM_PERMISSION,
        title="NCCL may not create files in /dev/shm",
        cause="NCCL's shared memory segment in /dev/shm could not be opened: permission denied.",
        fixes=(
            "Give /dev/shm its usual mode: chmod 1777 /dev/shm.",
            "Remove segments that another user left behind (ls -l /dev/shm/nccl-*); in a unit, look at PrivateTmp=,"
            " ProtectSystem= and SELinux' denials.",
        ),
        confidence=Confidence.CERTAIN,
    )


def _gone() -> Finding:
    return Finding(
        kind=Kind.NCCL_SHM,
        title="NCCL's shared memory segment is gone",
        cause="One rank created a segment in /dev/shm and another one could not open it: something removed it, or the ranks"
        " don't see the same /dev/shm.",
        fixes=(
            "Let all ranks share one IPC namespace and one /dev/shm.",
            "Keep logind from removing it: RemoveIPC=no in logind.conf, or run the unit as a system user.",
        ),
        confidence=Confidence.LIKELY,
    )


def _full(found: re.Match[str], *, certain: bool) -> Finding:
    size = found["size"] or found["bytes"]
    wanted = f" ({int(size):,} bytes)" if size else ""
    return Finding(
        kind=Kind.NCCL_SHM,
        title="No room for NCCL in /dev/shm" if certain else "NCCL could not create its shared memory",
        cause=f"NCCL could not get a shared memory segment{wanted} in /dev/shm"
        + (": it is full." if certain else "; most often it is too small or full."),
        fixes=(
            "Look at it with `df -h /dev/shm`; remove /dev/shm/nccl-* that no process holds (fuser).",
            "Make it larger: mount -o remount,size=64G /dev/shm; for a container --shm-size or --ipc=host.",
        ),
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
