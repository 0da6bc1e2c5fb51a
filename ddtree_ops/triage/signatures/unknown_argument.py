"""A server argument, or a value of one, that this SGLang doesn't have."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.5.13.post1, srt/speculative/spec_info.py, from_string
_ALGORITHM = re.compile(r"Unknown speculative algorithm name: (?P<name>\S+)")
# argparse of CPython: `prog: error: unrecognized arguments: --x`, `prog: error: argument --x: invalid choice: 'y' (...)`
_ARGPARSE = re.compile(
    r"[\w.-]+(?: \w+)*: error: (?:unrecognized arguments: (?P<extra>.+)|argument (?P<name>\S+): invalid choice: (?P<value>\S+).*)"
)


def match(context: Context) -> Finding | None:
    """No such speculative algorithm."""
    found = context.first(_ALGORITHM)
    if found is None:
        return None
    name = found[1]["name"]
    return Finding(
        kind=Kind.UNKNOWN_ARGUMENT,
        title=f"Unknown speculative algorithm {name}",
        cause=f"This SGLang knows no speculative algorithm named {name}: neither itself nor a plugin registers it.",
        fixes=(
            "Correct --speculative-algorithm.",
            "If a plugin should bring it: install the plugin into the release's venv; SGLang only logs a plugin that fails"
            " to load and starts without it.",
        ),
        confidence=Confidence.CERTAIN,
    )


def match_line(text: str) -> Finding | None:
    """The line with which argparse ends the server."""
    found = _ARGPARSE.fullmatch(text.strip())
    if found is None:
        return None
    what = f"{found['name']} {found['value']}" if found["name"] else found["extra"]
    return Finding(
        kind=Kind.UNKNOWN_ARGUMENT,
        title=f"Unknown argument {what}",
        cause=f"The server's command line has something that this SGLang doesn't know: {what}.",
        fixes=("Correct the argument, or deploy the SGLang version that has it.",),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match, match_line, literals=(": error: ",))
