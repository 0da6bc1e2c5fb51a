"""The installed transformers doesn't know this model, or lacks what its user imports from it."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# transformers 4 and 5: models/auto/{configuration,tokenization}_auto.py, utils/versions.py; SGLang, configs/model_config.py
_MODEL_TYPE = re.compile(
    r"has model type [`'\"]?(?P<name>[\w.-]{1,80})[`'\"]? but Transformers does not recognize this architecture"
)
_VERSION = re.compile(
    r"Transformers version (?P<has>\S{1,40}) is not supported for model|transformers(?P<needs>[<>=!~]{1,2}\S{1,40}) is required"
    r" for a normal"
    r" functioning of this module, but found transformers==(?P<found>[\w.]{1,40})|[Pp]lease (?:upgrade|update) (?:your"
    r" )?transformers"
)
_TOKENIZER = re.compile(r"Tokenizer class (?P<name>\w{1,100}) does not exist or is not currently imported")
_NO_NAME = re.compile(r"cannot import name '(?P<what>\w{1,100})' from '(?P<name>transformers[\w.]{0,200})'")
_NO_ATTRIBUTE = re.compile(
    r"module '?(?P<name>transformers[\w.]{0,100})'? has no attribute '?(?P<what>\w{1,100})|No module named 'transformers\."
    r"(?P<module>[\w.]{1,100})'"
)
_KEY = re.compile(r"^'(?P<name>\w{1,80})'$")


def match(context: Context) -> Finding | None:
    """A model type, a tokenizer class or a name that transformers doesn't have."""
    found = context.first(_MODEL_TYPE)
    if found:
        return _finding(f"The installed transformers doesn't know the model type {found[1]['name']}.", Confidence.CERTAIN)
    found = context.first(_VERSION)
    if found:
        has = found[1]["has"] or found[1]["found"]
        needs = f" ({found[1]['needs']} is needed)" if found[1]["needs"] else ""
        return _finding(f"transformers{f' {has}' if has else ''} is too old for this model{needs}.", Confidence.CERTAIN)
    found = context.first(_TOKENIZER)
    if found:
        return _finding(
            f"The installed transformers has no tokenizer class {found[1]['name']}, which the checkpoint names.",
            Confidence.LIKELY,
        )
    found = context.first(_NO_NAME) or context.first(_NO_ATTRIBUTE)
    if found:
        return _no_name(context, found[1])
    key = _KEY.match(context.ending.message) if context.ending.type == "KeyError" else None
    raising = context.frames[-1].file if context.frames else ""
    if key and raising.endswith("configuration_auto.py"):
        return _finding(f"The installed transformers doesn't know the model type {key['name']}.", Confidence.CERTAIN)
    return None


def _no_name(context: Context, found: re.Match[str]) -> Finding:
    named = found.groupdict()
    what = f"{named['what']} in {named['name']}" if named["what"] else f"module transformers.{named['module']}"
    remote = any("transformers_modules" in frame.file for frame in context.all_frames)
    if remote:
        return _finding(
            f"The model's own code wants {what}, which the installed transformers doesn't have (not yet, or no longer).",
            Confidence.LIKELY,
        )
    return _finding(f"The installed transformers has no {what}.", Confidence.LIKELY)


def _finding(cause: str, confidence: Confidence) -> Finding:
    return Finding(
        kind=Kind.TRANSFORMERS_TOO_OLD,
        title="transformers doesn't know this model",
        cause=cause,
        fixes=(
            "Put the transformers that the model's card names into the release's lock and deploy it; SGLang pins one that it"
            " was tested with.",
            "An older --revision of the model, from before it moved to that transformers, may do too.",
        ),
        confidence=confidence,
    )


SIGNATURE = Signature(match)
