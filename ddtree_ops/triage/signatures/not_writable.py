"""A directory that has to be written can't be: it lies on a file system that is read-only, or belongs to somebody else."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

_READ_ONLY = re.compile(r"\bRead-only file system\b(?: \(os error 30\))?(?:: (?P<quote>['\"])(?P<path>.{1,500}?)(?P=quote))?")
_MODULES = re.compile(r"Permission denied: '(?P<path>[^'\n]{0,300}/(?:hf_)?modules(?:/[^'\n]{0,200})?)'")


def match(context: Context) -> Finding | None:
    """EROFS anywhere; EACCES where transformers copies a model's own code to."""
    read_only = context.first(_READ_ONLY)
    if read_only:
        path = read_only[1]["path"] or "a file"
        return Finding(
            Kind.UNKNOWN,
            f"A file system is read-only: {path}",
            f"Writing {path} was refused (EROFS): the kernel made the file system read-only after errors of the disk, it is"
            " mounted so, or the unit's sandbox (ProtectSystem=, ReadOnlyPaths=) makes it so.",
            (
                "journalctl -k | grep -i -e remount -e 'I/O error' shows whether the disk failed: mend that first.",
                f"findmnt -T {path} shows the mount; ReadWritePaths= opens a path of the unit, and caches can be moved"
                " (XDG_CACHE_HOME, TRITON_CACHE_DIR).",
            ),
            Confidence.LIKELY,
        )
    modules = context.first(_MODULES)
    if modules is None:
        return None
    path = modules[1]["path"]
    return Finding(
        Kind.UNKNOWN,
        "The directory for the model's own code isn't writable",
        f"transformers copies a model's own code (remote code) before it imports it, and may not write {path}.",
        (
            "Make HF_HOME/modules (or HF_MODULES_CACHE) writable for the unit's user, and the same for all ranks:"
            f" namei -l {path}.",
        ),
        Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
