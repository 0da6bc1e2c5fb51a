"""A file system, or a quota, has no room left."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# errno(3): ENOSPC and EDQUOT, in the words of Python, Rust, C and Java. Semaphores, and inotify(7) of its watches, say it too.
_FULL = re.compile(
    r"\[Errno (?:28|122)\] |[Nn]o space left on device|\bENOSPC\b|(?:os error|OS error|errno[ =:]{1,3}) ?-?(?:28|122)\b"
    r"|Disk quota exceeded"
    r"|not enough (?:free )?disk space|There is not enough space on the disk"
)
_PATH = re.compile(
    r"(?:No space left on device|Disk quota exceeded)(?: \(os error \d{1,3}\))?: b?(?P<quote>['\"])"
    r"(?P<path>/.{1,1000}?)(?P=quote)"
    r"(?: -> b?'(?P<target>/.{1,1000}?)')?"
)
_PATH_BEFORE = re.compile(r"(?P<path>/[^\s'\":\u2018\u2019]{1,500})['\"\u2019]?: (?:[Cc]annot write: |write error: )?$")
_WATCHES = re.compile(r"inotify|\bwatch(?:es)? limit", re.IGNORECASE)
_KERNEL = re.compile(
    r"(?:EXT4-fs|XFS|BTRFS)\b[^(]{0,40}\((?:device )?(?P<device>[\w-]{1,32})\).{0,300}?(?:error 28\b|ENOSPC"
    r"|[Nn]o space left|errno=-28)"
)
_TOLD = 600  # characters
_SHM = "/dev/shm"  # noqa: S108 - a path in messages
# a tool's last line: `cp: error writing '/x': No space left on device`
_TOOL = re.compile(r"[a-z][\w.+-]{0,30}: (?:[^:]{1,300}: ){1,3}(?:[Cc]annot write: |write error: )?No space left on device$")
_HUB = re.compile(
    r"Not enough free disk space to download the file(?:[^\n]{0,200}The target location (?P<path>/\S{1,500}) only has)?"
)


def match(context: Context) -> Finding | None:
    """An exception or a task's result that says so, or the kernel's own words about a file system."""
    if context.block.origin is Origin.KERNEL:
        found = _KERNEL.match(context.block.text)
        return (
            _finding(f"The file system on {found['device']} is full", f"on {found['device']}", Confidence.LIKELY)
            if found
            else None
        )
    if context.block.origin in (Origin.ANSIBLE, Origin.SSH):
        return _read(context.block.text)
    found_in = context.first(_FULL)
    return _read(found_in[0].message) if found_in else None


def match_line(text: str) -> Finding | None:
    """huggingface_hub's warning, and a tool's last line."""
    return _read(text[-2000:]) if _HUB.search(text[:2000]) or _TOOL.match(text[:2000]) else None


def _read(text: str) -> Finding | None:
    if not (_FULL.search(text) or _HUB.search(text)) or _WATCHES.search(text[:_TOLD]):
        return None
    place = _place(text)
    if place and place.startswith(_SHM):
        return _finding(f"{_SHM} is full", f"in {_SHM}", Confidence.CERTAIN, "Give it more: mount -o remount,size=64G /dev/shm.")
    if place:
        return _finding("A disk is full", f"where {place} should be written", Confidence.CERTAIN)
    return _finding(
        "A disk is full",
        "on the file system it wrote to",
        Confidence.LIKELY,
        "It names no file: a limit of semaphores or watches has the same error (ipcs -ls, sysctl fs.inotify).",
    )


def _place(text: str) -> str | None:
    """The path that couldn't be written, behind the words or before them."""
    path = _PATH.search(text)
    if path:
        return path["target"] or path["path"]
    at = text.find("o space left on device") - 1
    before = _PATH_BEFORE.search(text[max(0, at - _TOLD) : at]) if at > 0 else None
    hub = _HUB.search(text)
    return before["path"] if before else hub["path"] if hub else None


def _finding(title: str, where: str, confidence: Confidence, *more: str) -> Finding:
    return Finding(
        kind=Kind.DISK_FULL,
        title=title,
        cause=f"There is no space left {where}.",
        fixes=(
            *more,
            "Look at it with df -h and df -i (inodes count too); caches of models and kernels grow: du -xh --max-depth=2.",
            "Remove what isn't needed (old releases, ~/.cache, core dumps), or point HF_HOME and TMPDIR to another disk.",
        ),
        confidence=confidence,
    )


SIGNATURE = Signature(match, match_line, literals=("Not enough free disk space", "No space left on device"))
