"""The resolved server arguments, from the line in which SGLang prints them.

`server_args=ServerArgs(model_path='...', tp_size=8, ...)` is a dataclass's repr (SGLang 0.5.13.post1,
`srt/entrypoints/engine.py`); keys are printed there too, so secrets are dropped here and the line is never kept.
"""

from __future__ import annotations

import ast
import re

from ddtree_ops.triage.model import ServerArgs

MARK = "server_args=ServerArgs("
_SECRET = re.compile(r"api_key|token$|password|secret|keyfile")
_SIMPLE = re.compile(
    r"(?<!\w)(\w{1,100})=('(?:[^'\\]|\\.){0,1000}'|-?\d{1,18}(?:\.\d{1,18})?|True|False|None|\[[\d, ]{0,1000}\])(?=, |\)|$)"
)
_NO_LITERAL = object()


def is_secret(name: str) -> bool:
    """Whether an argument of this name may hold a secret."""
    return bool(_SECRET.search(name))


def parse_server_args(text: str) -> ServerArgs | None:
    """The arguments printed in a log line, or None if it is no such line. Values that aren't literals are left out."""
    start = text.find(MARK)
    if start < 0:
        return None
    source = text[start + len("server_args=") :].rstrip()
    pairs = _by_syntax(source)
    if pairs is None:  # cut, or with a repr that is no expression
        pairs = {name: _literal(value) for name, value in _SIMPLE.findall(source)}
    return {name: value for name, value in pairs.items() if value is not _NO_LITERAL and not is_secret(name)}


def _by_syntax(source: str) -> dict[str, object] | None:
    try:
        call = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call):
        return None
    return {keyword.arg: _literal(keyword.value) for keyword in call.keywords if keyword.arg}


def _literal(source: str | ast.expr) -> object:
    """Its value, or `_NO_LITERAL`: the text is the log's, and may be anything that Python's grammar has, or nothing of it."""
    try:
        return ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return _NO_LITERAL
