"""Which failures are only the visible side of another one: the host's word explains what its processes say."""

from __future__ import annotations

import re
from collections.abc import Callable

from ddtree_ops.triage.groups import Group
from ddtree_ops.triage.kinds import Kind

#: Never the root where anything else is known: they tell of somebody else's failure.
SECONDARY = frozenset({Kind.PEER_RANK_FAILED, Kind.ENGINE_DEAD_SECONDARY, Kind.SYSTEMD_START_LIMIT})
#: A hang is what is left when one rank has failed and the others wait for it.
HANGS = frozenset({Kind.SCHEDULER_HANG, Kind.NCCL_TIMEOUT, Kind.NCCL_INIT_HANG, Kind.SYSTEMD_START_TIMEOUT})

_GPU = re.compile(r"CUDA|NCCL|nccl|cuBLAS|cudnn|GPU")
_LOST_CHILD = re.compile(r"EOFError|BrokenPipeError|ConnectionResetError|ProcessExitedException|SIGKILL|signal 9|exit code:? -9")
_NO_SPACE = re.compile(r"OSError|IOError|SafetensorError|[Cc]an't load|[Uu]nable to (?:load|write|open)|StreamWriter")

_GPU_KINDS = frozenset(
    {Kind.CUDA_ILLEGAL_ACCESS, Kind.NCCL_TIMEOUT, Kind.NCCL_SYSTEM_ERROR, Kind.SCHEDULER_HANG, Kind.FABRIC_NOT_READY}
    | {Kind.DEVICE_ASSERT_KERNEL_BUG, Kind.HANG_HIDDEN_ERROR, Kind.NCCL_INIT_HANG}
)
_LOST_KINDS = frozenset({Kind.SIGKILL_UNKNOWN, Kind.PEER_RANK_KILLED})


def _text(group: Group) -> str:
    return "\n".join(f"{item.type}: {item.message[:2000]}" for item in group.exceptions) or group.finding.title


def _by_gpu(group: Group) -> bool:
    return group.kind in _GPU_KINDS or (group.kind is Kind.UNKNOWN and bool(_GPU.search(_text(group))))


def _by_lost_child(group: Group) -> bool:
    return group.kind in _LOST_KINDS or is_lost_child(group)


def _by_full_disk(group: Group) -> bool:
    kinds = (Kind.UNKNOWN, Kind.WEIGHTS_MISSING, Kind.WEIGHTS_CORRUPT)
    return group.kind in kinds and bool(_NO_SPACE.search(_text(group)))


def _by_plugin(group: Group) -> bool:
    return group.kind is Kind.UNKNOWN_ARGUMENT


_EXPLAINS: dict[Kind, Callable[[Group], bool]] = {
    Kind.HOST_OOM: _by_lost_child,
    Kind.GPU_LOST: _by_gpu,
    Kind.GPU_ECC: _by_gpu,
    Kind.GPU_RESET_REQUIRED: _by_gpu,
    Kind.NVLINK_FAULT: _by_gpu,
    Kind.DISK_FULL: _by_full_disk,
    Kind.PLUGIN_INTERFACE_MISMATCH: _by_plugin,
}
# It says itself that the reason is another process's, and stands elsewhere.
_DEFERS = re.compile(
    r"(?i)error raised in (?:sub|child )process|see (?:the )?(?:logs?|stack trace|traceback|output) (?:above|for|of)"
)
_NEXT_US = 5_000_000
_TELLING = 12  # characters of a message that doesn't stand in another one by chance
_NEAR_US = 15 * 60 * 1_000_000  # NCCL waits ten minutes for a rank whose GPU is gone


def explains(one: Group, other: Group) -> bool:
    """Whether `one`, a fault of the host, is why `other` happened."""
    rule = _EXPLAINS.get(one.kind)
    if rule is None or one is other:
        return False
    if one.first_us is not None and other.first_us is not None and abs(one.first_us - other.first_us) > _NEAR_US:
        return False
    return other.kind in SECONDARY or rule(other)


def quotes(one: Group, other: Group) -> bool:
    """Whether `one`, of which nothing is known, only passes on what `other` says, of which something is."""
    if one is other or one.kind is not Kind.UNKNOWN or other.kind is Kind.UNKNOWN or not (one.exceptions and other.exceptions):
        return False
    first = other.exceptions[-1].message.split("\n", 1)[0].strip()
    if len(first) >= _TELLING and any(first in item.message for item in one.exceptions):
        return True
    apart = abs((one.first_us or 0) - (other.first_us or 0)) if one.first_us and other.first_us else 0
    return apart <= _NEXT_US and any(_DEFERS.search(item.message[:2000]) for item in one.exceptions)


def is_lost_child(group: Group) -> bool:
    """Whether it is only a parent that noticed that its child is gone."""
    return group.kind is Kind.UNKNOWN and bool(_LOST_CHILD.search(_text(group)))
