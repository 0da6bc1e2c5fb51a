"""A server argument, or a value of one, that this SGLang doesn't have."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# SGLang 0.5.13.post1, srt/speculative/spec_info.py, from_string; older: quoted
_ALGORITHM = re.compile(r"Unknown speculative algorithm(?: name:)? ?'?(?P<name>[\w.-]{1,100})")
_KEYWORD = re.compile(r"(?:ServerArgs|EngineArgs|Engine)\.__init__\(\) got an unexpected keyword argument '(?P<name>\w{1,100})'")
# argparse of CPython 3.8 to 3.14: `prog: error: unrecognized arguments: --x`, `prog: error: argument --x: invalid choice: 'y'`;
# SGLang's diffusion server leaves `prog: ` out
_ARGPARSE = re.compile(
    r"(?:[\w./-]{1,100}(?: [\w./-]{1,60}){0,5}: )?error: (?:"
    r"unrecognized arguments: (?P<extra>.{1,500})"
    r"|argument (?P<name>[\w/-]{1,200}): (?:invalid choice: (?P<choice>'[^']{0,200}'|\S{1,200})|invalid \w{1,40} value: "
    r"(?P<value>.{1,200})"
    r"|expected (?P<count>.{1,60}) arguments?)"
    r"|ambiguous option: (?P<short>\S{1,100}) could match (?P<longer>.{1,300})"
    r"|the following arguments are required: (?P<required>.{1,300}))"
)


def match(context: Context) -> Finding | None:
    """No such speculative algorithm, or no such field of ServerArgs."""
    found = context.first(_ALGORITHM)
    if found:
        return _no_algorithm(found[1]["name"])
    found = context.first(_KEYWORD)
    return _finding(found[1]["name"], f"{found[1]['name']} is no argument of this SGLang.") if found else None


def match_line(text: str) -> Finding | None:
    """The line with which argparse ends the server."""
    found = _ARGPARSE.match(text.strip()[:2000])
    if found is None:
        return None
    name = found["name"] or ""
    if found["extra"]:
        return _finding(
            found["extra"], f"The server's command line has something that this SGLang doesn't know: {found['extra']}."
        )
    if found["choice"] or found["value"]:
        value = found["choice"] or found["value"]
        return _finding(f"{name} {value}", f"{name} doesn't take {value} in this SGLang.")
    if found["short"]:
        return _finding(found["short"], f"{found['short']} could be {found['longer']}: it has to be written out.")
    if found["required"]:
        return _finding(found["required"], f"The server's command line lacks {found['required']}.", "Missing argument")
    return _finding(name, f"{name} was given the wrong number of values (it expects {found['count']}).", "Value missing for")


def _no_algorithm(name: str) -> Finding:
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


def _finding(what: str, cause: str, title: str = "Unknown argument") -> Finding:
    return Finding(
        kind=Kind.UNKNOWN_ARGUMENT,
        title=f"{title} {what}"[:200],
        cause=cause,
        fixes=("Correct the argument, or deploy the SGLang version that has it.",),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(
    match,
    match_line,
    literals=(
        "error: unrecognized arguments",
        ": error: ",
    ),
)
