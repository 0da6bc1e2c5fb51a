"""The shapes of a traceback's lines (CPython's Lib/traceback.py, 3.8 to 3.14), and whose code a frame is."""

from __future__ import annotations

import re

from ddtree_ops.triage.block import Frame

HEADER = "Traceback (most recent call last):"

# A line number can be missing (`line None`): code that a tool made has none.
_FRAME = re.compile(r'[ \t]*File "(?P<file>[^\n]+)", line (?P<line>\d{1,12}|None)(?:, in (?P<function>.+))?$')
_MARKERS = re.compile(r"[ \t]*[~^][ ~^]*$")
_REPEATED = re.compile(r"[ \t]*\[Previous line repeated (\d{1,9}) more times?\]$")

# fmt: off
_LIBRARIES = frozenset((
    "torch", "torchvision", "torchaudio", "triton", "numpy", "transformers", "accelerate", "safetensors", "huggingface_hub",
    "tokenizers", "uvicorn", "fastapi", "starlette", "anyio", "uvloop", "zmq", "pydantic", "pydantic_core", "requests",
    "urllib3", "httpx", "aiohttp", "orjson", "tqdm", "click", "ray",
))
# fmt: on
_PACKAGES = re.compile(r"/(?:site|dist)-packages/([^/]+)")
_STANDARD = re.compile(r"/python3(?:\.\d+)?/|/python3\d+\.zip/")


def parse_frame(text: str) -> Frame | None:
    """`  File "...", line N, in f`, or None. Without `in f` it is the place of a syntax error: its function is None."""
    if 'File "' not in text:
        return None
    found = _FRAME.match(text)
    if not found:
        return None
    line = None if found["line"] == "None" else int(found["line"])
    return Frame(found["file"], line, found["function"], None, is_in_app(found["file"]))


def is_markers(text: str) -> bool:
    """A line of carets and tildes below a code line (Python 3.11 on)."""
    return bool(_MARKERS.match(text))


def repeated(text: str) -> int | None:
    """N of `[Previous line repeated N more times]`."""
    found = _REPEATED.match(text)
    return int(found[1]) if found else None


def is_in_app(file: str) -> bool:
    """Whether the file is the application's: not generated, not Python's own, not a general library's."""
    if file.startswith("<"):
        return False
    package = _PACKAGES.search(file)
    if package:
        return package[1].removesuffix(".py") not in _LIBRARIES
    return not _STANDARD.search(file)
