"""The model's own Python files (remote code) aren't where transformers looks for them."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# transformers from about 5.10 resolves links: a snapshot's *.py is then looked for under blobs/, where names are hashes
_BLOBS = re.compile(r"No such file or directory: '(?P<path>[^'\n]{1,300}/blobs/[^'\n]{1,200}\.py)'")
_NOT_THERE = re.compile(r"(?P<repo>\S{1,300}) does not appear to have a file named (?P<file>[\w./-]{1,200}\.py)\b")
_FILE = re.compile(
    r"Could not locate (?:the )?(?P<file>[\w./-]{1,200}\.py) inside (?P<repo>[^\s]{1,300}?)\.?(?:\n|$)"
    r"|No such file or directory: '(?P<path>[^'\n]{0,300}(?:transformers_modules|snapshots)/[^'\n]{1,300}\.py)'"
)
_MODULE = re.compile(r"No module named ['\"]?(?P<name>transformers_modules[\w.-]{0,200})")


def match(context: Context) -> Finding | None:
    """A *.py of the checkpoint wasn't found, or its copy couldn't be imported."""
    found = context.first(_BLOBS)
    if found:
        cause = (
            f"transformers followed a link of the hub's cache and looks for {found[1]['path']}: among blobs, files have no"
            " such names."
        )
        return _finding(
            cause,
            Confidence.CERTAIN,
            "Replace the links of the snapshot's *.py files by real files (weights may stay links), or serve from a directory"
            " that was"
            " fetched with --local-dir.",
            "Or install a transformers that keeps the link's own path.",
        )
    found = context.near("does not appear to have a file named", _NOT_THERE) or context.first(_FILE)
    if found:
        named = found[1].groupdict()
        name, place = named["file"] or named.get("path"), named["repo"]
        cause = f"The model's config.json refers to its own code in {name}, which isn't there" + (
            f" (in {place})." if place else "."
        )
        return _finding(
            cause, Confidence.CERTAIN, "Fetch the whole repository, *.py files included, of the same revision as the weights."
        )
    found = context.first(_MODULE)
    if found:
        cause = f"The model's own code was to be imported as {found[1]['name']}, but its copy isn't there."
        return _finding(
            cause, Confidence.LIKELY, _WRITABLE, "A dot in the model directory's name can break the module's name: rename it."
        )
    return None


_WRITABLE = "Make HF_HOME/modules (or HF_MODULES_CACHE) writable for the unit's user, and the same for all ranks."


def _finding(cause: str, confidence: Confidence, *fixes: str) -> Finding:
    return Finding(Kind.REMOTE_CODE_MISSING, "The model's own code is missing", cause, fixes, confidence)


SIGNATURE = Signature(match)
