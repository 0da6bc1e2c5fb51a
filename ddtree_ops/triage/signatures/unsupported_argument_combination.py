"""Arguments that this SGLang has, but not together, or not with this model or on this GPU."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import ParsedException
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, FailurePhase, Finding, Number
from ddtree_ops.triage.numbers import Facts, explain
from ddtree_ops.triage.signatures.context import Context, Signature

_REFUSALS = frozenset({"ValueError", "AssertionError", "NotImplementedError", "TypeError", "RuntimeError", "ValidationError"})
# Where SGLang and vLLM check their arguments
_CHECKS = re.compile(
    r"/srt/(?:server_args|arg_groups/\w+|configs/model_config)\.py$|/vllm/(?:config(?:/\w+)?|engine/arg_utils)\.py$"
)
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]{1,60}")
_FIELD = re.compile(r"(?<![\w.])[a-z]{2,20}(?:_[a-z]{2,20}){1,5}(?![\w(])")
# An assertion without words: the code line is the condition
_CONDITION = re.compile(r"^assert\s+(?P<what>[^\n]{1,200})")
# Checks that come later, where the model is built or a back-end chosen
_DIVISIBLE = re.compile(
    r"\b(?P<value>\d{1,9})\)? ?(?:is not|must be) divisible"
    r" by (?P<by>[\w ,=-]{0,60}?)\(?(?P<n>\d{1,9})\)?"
)
_LATER = re.compile(
    r"(?:attention |MoE |moe |sampling |grammar )?[Bb]ack-?end [^\n]{0,80}(?:is not supported|only supports?|does not support"
    r"|is only supported)"
    r"|implements neither set_\w+_layers_to_capture"
    r"|[Ss]peculative (?:decoding|algorithm)[^\n]{0,80}(?:not (?:yet )?support|not compatible|only supports?|incompatible)"
    r"|(?:is|are) (?:mutually exclusive|not compatible with|incompatible with)[^\n]{0,80}--"
)
_EARLY = (
    FailurePhase.ARGUMENTS,
    FailurePhase.UNKNOWN,
    FailurePhase.DISTRIBUTED_INIT,
    FailurePhase.WEIGHTS,
    FailurePhase.KV_CACHE,
)
_NOT_ALLOWED = re.compile(
    r"[\w./-]{1,100}(?: [\w./-]{1,60}){0,5}: error: argument (?P<one>[\w/-]{1,200}): not allowed with argument "
    r"(?P<two>[\w/-]{1,200})"
)


def match(context: Context) -> Finding | None:
    """An exception from where arguments are checked, or one that says the same from elsewhere before the server is up."""
    ending = context.ending
    if ending.type.rsplit(".", 1)[-1] not in _REFUSALS:
        return None
    raising = ending.frames[-1].file if ending.frames else ""
    if _CHECKS.search(raising) and _is_deliberate(ending):
        return _refused(ending, context.facts)
    divided = context.near("divisible by", _DIVISIBLE)
    if divided and context.phase in (*_EARLY, FailurePhase.GRAPH_CAPTURE):
        return _not_divisible(context, divided[0].message, divided[1])
    if context.first(_LATER) and context.phase in (*_EARLY, FailurePhase.GRAPH_CAPTURE):
        return _refused(ending, context.facts)
    return None


def match_line(text: str) -> Finding | None:
    """argparse's word for two arguments that exclude each other."""
    found = _NOT_ALLOWED.match(text.strip()[:2000])
    return (
        _finding(f"{found['one']} excludes {found['two']}.", ("Give only one of them.",), Confidence.CERTAIN) if found else None
    )


def _is_deliberate(ending: ParsedException) -> bool:
    """Whether a check refused, and not the interpreter: a slip in the code raises where no `raise` or `assert` stands."""
    code = (ending.frames[-1].code or "").lstrip()
    if not code:
        return ending.type != "TypeError" or bool(_FLAG.search(ending.message))
    return code.startswith(("raise", "assert")) or bool(_FLAG.search(ending.message))


def _refused(ending: ParsedException, facts: Facts) -> Finding:
    said = " ".join(ending.message.split())
    condition = _CONDITION.match(ending.frames[-1].code or "") if ending.frames and not said else None
    what = said or (f"it wants {condition['what'].rstrip('(, ')}" if condition else "the check that failed says nothing")
    spoken = [
        f"--{word.replace('_', '-')}"
        for word in _FIELD.findall(ending.message)
        if not facts.server_args or word in facts.server_args
    ]
    names = tuple(dict.fromkeys(_FLAG.findall(ending.message) or spoken))[:6]
    values = [
        f"{name} (now {value})" for name in names if (value := facts.server_args.get(name[2:].replace("-", "_"))) is not None
    ]
    change = f"Change {', '.join(values or names)}." if names else "Change the arguments that it names."
    return _finding(
        f"The server refuses these arguments: {what[:400]}",
        (change, "`plan` finds most of these before anything is deployed."),
        Confidence.CERTAIN,
    )


def _not_divisible(context: Context, message: str, found: re.Match[str]) -> Finding:
    value, by = int(found["value"]), int(found["n"])
    numbers = explain(by, context.facts, context.frames, tell_unknown=False)
    name = next((item.expression for item in numbers if "tp_size" in item.expression or "size" in item.expression), "")
    cause = f"A size of the model, {value}, can't be divided by {by}" + (
        f" ({name})." if name else ": " + " ".join(message.split())[:160]
    )
    fixes = ("Choose a --tp-size (or --ep-size) that divides the model's heads, experts and quantization blocks.",)
    return _finding(cause, fixes, Confidence.CERTAIN, (Number(value, "a size of the model", "message"), *numbers))


def _finding(cause: str, fixes: tuple[str, ...], confidence: Confidence, numbers: tuple[Number, ...] = ()) -> Finding:
    title = "Arguments that don't go together"
    return Finding(Kind.UNSUPPORTED_ARGUMENT_COMBINATION, title, cause, fixes, confidence, numbers)


SIGNATURE = Signature(match, match_line, literals=(": not allowed with argument ",))
