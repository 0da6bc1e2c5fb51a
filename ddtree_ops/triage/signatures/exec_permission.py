"""A program or a library could not be run or mapped: no execute bit, a mount with noexec, or an access rule."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Origin
from ddtree_ops.triage.blocks.systemd_words import denied_program
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through

# errno 13 (EACCES) of an exec; glibc's elf/dl-load.c for a library on a mount with noexec
_DENIED = re.compile(r"\[Errno 13\] Permission denied: (?P<quote>['\"])(?P<path>.{1,1000}?)(?P=quote)")
_MAPPED = re.compile(
    r"(?P<path>/\S{1,1000}): failed to map segment from shared object(?:: (?:Operation not permitted|Permission denied))?"
)
# a shell's words; bash says the same of a file that it may not write, so the path has to look like a program's
_SHELL = re.compile(
    r"\S{1,300}: (?:line )?\d{1,6}: (?P<exec>exec: )?(?P<path>\S{1,500}?): (?P<cannot>cannot execute: )?Permission denied$"
)
_INTERACTIVE = re.compile(r"-?(?:ba|da|z)?sh: (?:\d{1,6}: )?(?P<path>[^\s:]{1,500}): Permission denied$")
_CONTAINER = re.compile(r".{0,400}?OCI runtime .{0,400}?exec: \"?(?P<path>/[^\s\":]{1,500})\"?: permission denied")
_PROGRAM = re.compile(r"/s?bin/|\.(?:sh|py|bin|run)$")
_EXEC = frozenset({"_execute_child", "execv", "execve", "_fork_exec", "spawnv_passfds", "_posix_spawn", "execvp", "_execvpe"})


def match(context: Context) -> Finding | None:
    """Python's error where a program is started, the loader's about a library, or a denial before a unit's end."""
    if context.block.origin is Origin.SYSTEMD:
        return _denied(context)
    mapped = context.near("failed to map segment", _MAPPED)
    if mapped:
        return _finding(
            mapped[1]["path"],
            "A library may not be mapped as code",
            "the file system it lies on is mounted with noexec, or an access rule forbids it",
            "Point TMPDIR and the kernel caches (TRITON_CACHE_DIR, TVM_FFI_CACHE_DIR, ~/.cache) to a file system without noexec.",
        )
    denied = context.first(_DENIED)
    if denied is None or not passes_through(denied[0].frames, functions=_EXEC):
        return None
    return _not_run(denied[1]["path"])


def _denied(context: Context) -> Finding | None:
    """The unit's program ran, and was refused another one; systemd's own step is another signature's."""
    denial = next((found for line in context.block.lines if (found := denied_program(line))), None)
    if denial is None:
        return None
    who, path = denial
    return _finding(
        path,
        "A program may not be run",
        f"{who} denied it",
        "Allow it in the profile (aa-status, aa-logprof), or give the file its right label (restorecon -v).",
        Confidence.CERTAIN,
    )


def match_line(text: str) -> Finding | None:
    """A shell's or a container runtime's word about a script or a program."""
    text = text[:2000]
    plain = _INTERACTIVE.match(text) or _CONTAINER.match(text)
    if plain:
        return _not_run(plain["path"])
    found = _SHELL.match(text)
    if found is None or not (found["exec"] or found["cannot"] or _PROGRAM.search(found["path"])):
        return None
    return _not_run(found["path"])


def _not_run(path: str) -> Finding:
    return _finding(
        path,
        "A program may not be run",
        "it lacks the execute bit, a directory above it is closed to this user, or the file system is mounted with noexec",
        f"namei -l {path} shows every directory's rights; chmod +x, or a mount without noexec (findmnt -T).",
    )


def _finding(path: str, title: str, why: str, fix: str, confidence: Confidence = Confidence.LIKELY) -> Finding:
    return Finding(
        kind=Kind.EXEC_PERMISSION,
        title=f"{title}: {path}",
        cause=f"Running {path} was refused: {why}.",
        fixes=(fix, "Look for denials of SELinux or AppArmor in journalctl -k."),
        confidence=confidence,
    )


SIGNATURE = Signature(match, match_line, literals=(": Permission denied", "OCI runtime"))
