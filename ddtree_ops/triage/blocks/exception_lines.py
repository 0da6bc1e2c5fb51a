"""An exception's own line, `module.Type: message`, told from everything else that a log says."""

from __future__ import annotations

import re
from typing import NamedTuple

from ddtree_ops.triage.block import Relation

#: What CPython prints between two exceptions of a chain (Lib/traceback.py).
RELATIONS = {
    "The above exception was the direct cause of the following exception:": Relation.CAUSE,
    "During handling of the above exception, another exception occurred:": Relation.CONTEXT,
}

# The last part may have ray's "(ValueError)" behind it (ray/exceptions.py, make_dual_exception_type); a module of
# downloaded model code may hold hyphens and begin with digits (transformers_modules.Kimi-K2.3f1a.modeling).
_EXCEPTION = re.compile(
    r"(?P<type>(?:[^\W\d][\w-]*|<unknown>)(?:\.(?:[\w-]+|<locals>|<lambda>))*(?:\([\w.]{1,200}\))?)(?:: ?(?P<message>.*))?$"
)
_SURELY = re.compile(
    r"\w*(?:Error|Exception|Interrupt|Exit|Warning|Timeout|Failure|Fault|ExceptionGroup|NotFound|Exists|Denied|Aborted|Died)"
    r"|Stop(?:Async)?Iteration|OutOf\w+|NoSuch\w+|timeout|error|Empty|Full"
)
_ALONE = re.compile(r"(?:[^\W\d]\w*)?(?:Exception|(?<=\w)Error|Interrupt|Exit|ExceptionGroup)")
_SHELL_WORDS = frozenset(
    {"Killed", "Aborted", "Terminated", "Done", "Hangup", "Quit", "Stopped", "Exit", "True", "False", "None"}
)

# A line that surely isn't the rest of an exception's message: another log record or another program part speaks.
_OTHER = re.compile(
    r"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)(?::|\s{2,})|\[rank\d+\]:\[|Process \S+:$|Exception in thread |Fatal Python error:"
    r"|Exception ignored |Exception in callback |terminate called |\S{1,400}\.py:\d+: \w*Warning: |\[\d{4}-\d\d-\d\d "
    r"|\S{1,200}\.service: |\[?[EWIF]\d{3,4} \d\d:\d\d:\d\d"
)


class ExceptionLine(NamedTuple):
    """Type and first message line. `sure`: the type is named as exceptions are."""

    type: str
    message: str
    sure: bool


def parse_exception(text: str) -> ExceptionLine | None:
    """An exception's line, or None. A name without any sign of an exception counts only if it looks like a class."""
    found = _EXCEPTION.match(text)
    if not found:
        return None
    kind, message = found["type"], found["message"]
    name = kind.partition("(")[0].rpartition(".")[2]
    if "-" in name:
        return None
    sure = _SURELY.fullmatch(name) is not None and not (message is None and name in _SHELL_WORDS)
    if not sure and (name.isupper() or name in _SHELL_WORDS or not ("." in kind or name[:1].isupper())):
        return None
    return ExceptionLine(kind, message or "", sure)


def may_stand_alone(kind: str) -> bool:
    """Whether a line with this type tells of an exception without a header above it: `Error: ...` is anybody's."""
    return _ALONE.fullmatch(kind.rpartition(".")[2]) is not None


def is_other(text: str) -> bool:
    """The line can't continue an exception's message."""
    return _OTHER.match(text) is not None
