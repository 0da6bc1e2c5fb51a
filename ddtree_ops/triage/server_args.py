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
_SIMPLE = re.compile(r"(\w+)=('(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?|True|False|None|\[[\d, ]*\])(?=, |\)|$)")


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
        pairs = {name: ast.literal_eval(value) for name, value in _SIMPLE.findall(source)}
    return {name: value for name, value in pairs.items() if not is_secret(name)}


def _by_syntax(source: str) -> dict[str, object] | None:
    try:
        call = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(call, ast.Call):
        return None
    pairs: dict[str, object] = {}
    for keyword in call.keywords:
        try:
            if keyword.arg:
                pairs[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    return pairs
