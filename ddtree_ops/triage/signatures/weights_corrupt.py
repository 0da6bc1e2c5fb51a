"""A weight file, or a file beside it, that is there but can't be read as what it should be."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through

# safetensors 0.3 to 0.8 (HeaderTooLarge, later "header too large", ...)
_HEADER = re.compile(
    r"Error while deserializing(?: header)?: (?P<what>[^\n]{0,120})|MetadataIncompleteBuffer|HeaderTooLarge|HeaderTooSmall"
    r"|InvalidHeader\w*"
)
# torch.load and pickle; huggingface_hub's check of sizes; SGLang's model_file_verifier.py
_BROKEN = re.compile(
    r"PytorchStreamReader failed|failed finding central directory|unexpected EOF, expected \d+ more bytes|The file might be"
    r" corrupted"
    r"|invalid load key, |Unsupported operand 118\b|Consistency check failed: file should be of size|Integrity check failed: "
    r"|seem to have cloned a repository without having git-lfs installed|is not a valid JSON file"
)
_POINTER = re.compile(r"invalid load key, 'v'|operand 118|git-lfs|[Hh]eader ?[Tt]oo ?[Ll]arge")
_FILE = re.compile(r"(?P<path>[^\s'\"`,;:]{1,300}\.(?:safetensors|bin|pt|pth|json|gguf))")
_SUFFIXES = (".safetensors", ".bin", ".pt", ".json", ".gguf")
_JSON_READERS = frozenset(
    {"_dict_from_json_file", "_get_config_dict", "get_checkpoint_shard_files", "filter_duplicate_safetensors_files"}
)


def match(context: Context) -> Finding | None:
    """safetensors, torch or the hub's client refuse a file's content."""
    header = context.first(_HEADER)
    if header and ("afetensor" in header[0].type or "afetensor" in header[0].message or "header" in header[0].message):
        what = (header[1]["what"] or header[1].group()).strip()
        pointer = bool(_POINTER.search(header[0].message))
        return _finding(context, f"safetensors can't read a weight file's header ({what})", pointer)
    broken = context.first(_BROKEN)
    if broken:
        pointer = bool(_POINTER.search(broken[0].message))
        return _finding(context, broken[1].group().rstrip(" :,"), pointer)
    parsed = next((item for item in context.block.exceptions if item.type.endswith("JSONDecodeError")), None)
    if parsed and passes_through(parsed.frames, functions=_JSON_READERS):
        return _finding(context, f"a JSON file of the checkpoint can't be parsed ({parsed.message[:100]})", False)
    return None


def _finding(context: Context, what: str, pointer: bool) -> Finding:
    path = next((found[1] for suffix in _SUFFIXES if (found := context.near(suffix, _FILE))), None)
    which = f" {path['path']}" if path else ""
    cause = f"A file of the checkpoint{which} is damaged or incomplete: {what}."
    fixes = [
        "Find the file by size and sha256 against the repository's list, and fetch it again; a full disk cuts files too (df)."
    ]
    if pointer:
        fixes.append(
            "A file of about 130 bytes is a git-lfs pointer, not the weights: `git lfs pull`, or fetch with the hub's client."
        )
    return Finding(Kind.WEIGHTS_CORRUPT, "A file of the checkpoint is damaged", cause, tuple(fixes), Confidence.CERTAIN)


SIGNATURE = Signature(match)
