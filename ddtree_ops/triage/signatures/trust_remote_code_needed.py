"""The model brings Python code of its own, and nobody allowed it to run."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# transformers 4 and 5, dynamic_module_utils.py; SGLang, utils/hf_transformers/tokenizer.py; vLLM, config
_MESSAGE = re.compile(
    r"contains? custom code which must be executed to correctly load|requires you to execute (?:the|custom|a) [^\n]{0,60}"
    r"(?:code|file)"
    r"|pass the argument `trust_remote_code=True`|set the option `trust_remote_code=True`"
    r"|consider setting `trust_remote_code=True`|use the `--trust-remote-code` flag"
)
_REPOSITORY = re.compile(
    r"The repository (?:for )?(?P<name>\S{1,300}) (?:contains|references)|inspect the repository content at "
    r"(?:https://hf\.co/)?(?P<at>\S{1,300})"
)


def match(context: Context) -> Finding | None:
    """transformers' refusal, itself or as the server tells it on."""
    found = context.first(_MESSAGE)
    if found is None:
        return None
    named = context.first(_REPOSITORY)
    name = (named[1]["name"] or named[1]["at"]).rstrip(".") if named else "The model"
    allowed = context.facts.server_args.get("trust_remote_code") is True
    return Finding(
        kind=Kind.TRUST_REMOTE_CODE_NEEDED,
        title="The model's own code isn't allowed to run",
        cause=f"{name} needs Python code that comes with the checkpoint, and it was loaded without being allowed to run it.",
        fixes=(
            "Read the repository's *.py files, pin its --revision, and start with --trust-remote-code."
            if not allowed
            else "--trust-remote-code is given already: the draft model or the tokenizer is loaded without it, or this is"
            " another process.",
            "Or use an SGLang and transformers that know this model by themselves.",
        ),
        confidence=Confidence.CERTAIN if not allowed else Confidence.LIKELY,
    )


SIGNATURE = Signature(match)
