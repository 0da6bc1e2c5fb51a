"""No weights, or no model at all, where the server looks for them."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.5.13.post1, srt/model_loader/loader.py; transformers 4 and 5, modeling_utils.py and utils/hub.py
_NO_WEIGHTS = re.compile(
    r"(?:Cannot find any model weights with|No model weights found in:) `(?P<path>[^`]{1,400})`"
    r"|Could not find checkpoint files '(?P<pattern>[^']{1,300})'"
)
_NO_FILES = re.compile(r"no file named .{1,250} found in directory (?P<folder>[^\n]{1,300}?)\.(?:\n|$)")
_NO_FILE = re.compile(
    r"(?P<repo>\S{1,300}) does not appear to have (?:a file named|files named) (?P<file>[^\s,]{1,300}?)\.?(?: Checkout|$)"
)
_ERRNO = re.compile(
    r"No such file or directory:? ['\"]?(?P<path>[^'\"\n]{1,400}(?:\.(?:safetensors|bin|pt|pth|gguf)|config\.json|\.index\.json"
    r"|tokenizer\.\w+))['\"]?"
)
# huggingface_hub 0.2x to 1.x: not in the cache, and no network (or told not to use it)
_NOT_CACHED = re.compile(
    r"LocalEntryNotFoundError|cannot find the requested files in the (?:disk|local) cache|Cannot find an appropriate cached"
    r" snapshot"
    r"|couldn't find (?:them|it) in the cached files|outgoing traffic has been disabled"
)
# A path that isn't there is taken for the name of a repository
_NO_PATH = re.compile(
    r"Repo id must (?:be in the form|use alphanumeric).{0,160}?: '(?P<path>/[^'\n]{1,300})'"
    r"|Incorrect path_or_model_id: '(?P<wrong>[^'\n]{1,300})'"
)


_NOT_LOCAL = re.compile(r"(?P<path>/\S{1,300}) is not a local folder and is not a valid model identifier")


def match(context: Context) -> Finding | None:
    """The directory holds no weights, lacks a file, or isn't there; or the hub's cache lacks it and can't fetch."""
    found = context.first(_NO_WEIGHTS) or context.near("found in directory", _NO_FILES)
    if found:
        path = next(item for item in found[1].groups() if item)
        return _finding(
            f"No model weights in {path}", f"The directory {path} holds no weight files that the server loads.", _CHECK
        )
    found = context.first(_NO_PATH) or context.near("is not a local folder", _NOT_LOCAL)
    if found:
        path = next(item for item in found[1].groups() if item)
        cause = f"{path} doesn't exist for the server, so it was taken for the name of a repository."
        return _finding(f"No model at {path}", cause, ("Correct the path; the unit's user must be able to read it.",))
    found = context.near("does not appear to have", _NO_FILE) or context.first(_ERRNO)
    if found:
        named = found[1].groupdict()
        missing = f"{named['file']} in {named['repo']}" if named.get("file") else named["path"]
        return _finding(f"{missing} is missing", f"The server needs {missing}, which isn't there.", _CHECK)
    found = context.first(_NOT_CACHED)
    typed = any(item.type.endswith("LocalEntryNotFoundError") for item in context.block.exceptions)
    if found or typed:
        cause = (
            "The model isn't complete in the hub's cache of this user, and it couldn't be fetched (offline, or no way to"
            " the hub)."
        )
        return _finding("The model isn't in the cache", cause, _CACHE)
    return None


_CHECK = (
    "Point the model path at a directory with weights, or finish the download: every name of the *.index.json must be there.",
)
_CACHE = (
    "Fetch the model as the unit's user with the same HF_HOME, or give --model-path a local directory.",
    "HF_HUB_OFFLINE=1 forbids fetching; a comment behind a value in an EnvironmentFile= becomes part of the value.",
)


def _finding(title: str, cause: str, fixes: tuple[str, ...]) -> Finding:
    return Finding(Kind.WEIGHTS_MISSING, title, cause, fixes, Confidence.CERTAIN)


SIGNATURE = Signature(match)
