"""The shapes of a traceback's lines (CPython's traceback.py, 3.9 to 3.14), and whose code a frame is."""

from __future__ import annotations

import re
from typing import NamedTuple

from ddtree_ops.triage.block import Frame, Relation

HEADER = "Traceback (most recent call last):"

RELATIONS = {
    "The above exception was the direct cause of the following exception:": Relation.CAUSE,
    "During handling of the above exception, another exception occurred:": Relation.CONTEXT,
}

_FRAME = re.compile(r'\s*File "(?P<file>.+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_MARKERS = re.compile(r"[ \t]*[~^][ ~^]*$")
_REPEATED = re.compile(r"\s*\[Previous line repeated (\d+) more times?\]$")
_EXCEPTION = re.compile(r"(?P<type>[A-Za-z_]\w*(?:\.(?:\w+|<locals>))*)(?:: ?(?P<message>.*))?$")

# A line that surely isn't the rest of an exception's message: another log record or another program part speaks.
_OTHER = re.compile(
    r"(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)(?::|\s{2,})|\[rank\d+\]:\[|Process \S+:$|Exception in thread |Fatal Python error:"
    r"|Exception ignored |terminate called |\S+\.py:\d+: \w*Warning: |\[\d{4}-\d\d-\d\d |\S+\.service: "
)

_LIBRARIES = frozenset(
    [
        "torch",
        "torchvision",
        "torchaudio",
        "triton",
        "numpy",
        "transformers",
        "accelerate",
        "safetensors",
        "huggingface_hub",
        "tokenizers",
        "uvicorn",
        "fastapi",
        "starlette",
        "anyio",
        "uvloop",
        "zmq",
        "pydantic",
        "pydantic_core",
        "requests",
        "urllib3",
        "httpx",
        "aiohttp",
        "orjson",
        "tqdm",
        "click",
        "ray",
    ]
)
_PACKAGES = re.compile(r"/(?:site|dist)-packages/([^/]+)")
_STANDARD = re.compile(r"/python3(?:\.\d+)?/|/python3\d+\.zip/")


def parse_frame(text: str) -> Frame | None:
    """`  File "...", line N, in f`, or None."""
    if 'File "' not in text:
        return None
    found = _FRAME.match(text)
    if not found:
        return None
    return Frame(found["file"], int(found["line"]), found["function"], None, is_in_app(found["file"]))


def is_markers(text: str) -> bool:
    """A line of carets and tildes below a code line (Python 3.11 on)."""
    return bool(_MARKERS.match(text))


def repeated(text: str) -> int | None:
    """N of `[Previous line repeated N more times]`."""
    found = _REPEATED.match(text)
    return int(found[1]) if found else None


def parse_exception(text: str) -> tuple[str, str] | None:
    """Type and first message line of an exception line, or None. A bare word counts only if it looks like a class."""
    found = _EXCEPTION.match(text)
    if not found:
        return None
    kind, message = found["type"], found["message"]
    if message is None and "." not in kind and not kind[:1].isupper():
        return None
    return kind, message or ""


def is_other(text: str) -> bool:
    """The line can't continue an exception's message."""
    return bool(_OTHER.match(text))


def is_in_app(file: str) -> bool:
    """Whether the file is the application's: not generated, not Python's own, not a general library's."""
    if file.startswith("<"):
        return False
    package = _PACKAGES.search(file)
    if package:
        return package[1].removesuffix(".py") not in _LIBRARIES
    return not _STANDARD.search(file)


class Divider(NamedTuple):
    """A line of an exception group's drawing: `+-+--- 1 ---` opens, `+--- 2 ---` divides, `+-------` closes."""

    opens: bool
    closes: bool


_DIVIDER = re.compile(r"[ |]*\+(-\+)?-{3,}(?: (?:\d+|\.\.\.) -{3,})?$")
_INSIDE = re.compile(r"\s*(?:\| ?)+|\s+\+ (?=Exception Group )")


def group_line(text: str) -> tuple[str, Divider | None]:
    """The text inside a group's drawing, and the divider if the line is one (PEP 654, Rationale of the display)."""
    start = text.lstrip()[:1]
    if start not in ("|", "+"):
        return text, None
    found = _DIVIDER.match(text)
    if found:
        numbered = " " in text.strip()
        return "", Divider(opens=bool(found[1]), closes=not numbered)
    inside = _INSIDE.match(text)
    return (text[inside.end() :] if inside else text), None
