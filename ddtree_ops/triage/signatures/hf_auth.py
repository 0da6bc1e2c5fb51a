"""The hub doesn't give this user the repository."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# huggingface_hub 0.2x to 1.x, utils/_http.py and errors.py; transformers 4 and 5, utils/hub.py
_GATED = re.compile(
    r"Cannot access gated repo for url|You are trying to access a gated repo|is a gated repository"
    r"|Access to model (?P<repo>\S{1,200}) is restricted"
)
_TOKEN = re.compile(
    r"Invalid (?:user token|credentials in Authorization header|username or password)|Token is required (?:\(|but)"
    r"|LocalTokenNotFoundError"
)
_STATUS = re.compile(r"\b(?P<status>401|403) (?:Client Error|Unauthorized|Forbidden)\b")
_HUB = re.compile(r"https?://(?:[\w.-]{1,80}\.)?(?:huggingface\.co|hf\.co|hf-mirror\.com)/(?P<path>[\w./-]{0,200})")
_ROUTE = re.compile(r"^(?:api/)?(?:models/|datasets/)?|/(?:resolve|tree|revision|raw)/.*$")


def match(context: Context) -> Finding | None:
    """A gated repository, a token that isn't valid, or a refusal that stands for either."""
    gated = context.first(_GATED)
    repo = _repository(context)
    if gated:
        cause = f"The repository{repo} is gated, and the account of this token (or no account) hasn't been granted it."
        return _finding("The model's repository is gated", cause, Confidence.CERTAIN)
    if context.first(_TOKEN):
        return _finding(
            "The hub refuses the token",
            f"The hub doesn't accept the token that was sent for{repo or ' the model'}.",
            Confidence.CERTAIN,
        )
    refused = context.first(_STATUS)
    if refused and (_HUB.search(refused[0].message) or "huggingface_hub" in refused[0].type):
        cause = (
            f"The hub answered {refused[1]['status']} for{repo or ' the model'}: it is private or gated, or doesn't exist;"
            " without a right"
        )
        return _finding("The hub refuses the model", f"{cause} token it says the same of all three.", Confidence.LIKELY)
    return None


def _repository(context: Context) -> str:
    found = context.first(_HUB)
    name = _ROUTE.sub("", found[1]["path"]).strip("/") if found else ""
    return f" {name}" if name else ""


def _finding(title: str, cause: str, confidence: Confidence) -> Finding:
    fixes = (
        "Ask for access on the repository's page, and give the unit a token of that account as its credential hf_token (never"
        " in argv).",
        "Or fetch the model beforehand and point --model-path at the directory: then no token is needed.",
    )
    return Finding(Kind.HF_AUTH, title, cause, fixes, confidence)


SIGNATURE = Signature(match)
