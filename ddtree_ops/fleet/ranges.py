"""Host names with ranges: `web[01:03]`, `gpu-[a:c]`, `node[1:9:2]`, and a port behind a name.

The rules are Ansible's (ansible/plugins/inventory/__init__.py, expand_hostname_range, ansible-core 2.19).
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

_BRACKETED_WITH_PORT = re.compile(r"\[(?P<host>.+)\]:(?P<port>\d+)")
_WITH_PORT = re.compile(r"(?P<host>(?:[^:\[\]]|\[[^\]]*\])+):(?P<port>\d+)")
_RANGE = re.compile(r"(?P<head>[^\[]*)\[(?P<range>[^\]]*)\](?P<tail>.*)", re.DOTALL)
_MOST_HOSTS = 10_000


def expand_pattern(pattern: str) -> tuple[tuple[str, ...], int | None]:
    """The host names that a key below `hosts` stands for, and the port if it names one.

    Raises ValueError with a readable reason.
    """
    match = _BRACKETED_WITH_PORT.fullmatch(pattern) or _WITH_PORT.fullmatch(pattern)
    if match:
        return tuple(_expand(match["host"])), int(match["port"])
    return tuple(_expand(pattern)), None


def _expand(pattern: str) -> list[str]:
    if "[" not in pattern:
        return [pattern]
    match = _RANGE.fullmatch(pattern)
    if match is None:
        raise ValueError(f"host range in '{pattern}' has no closing bracket")
    names: list[str] = []
    for value in _values(match["range"]):
        names += _expand(f"{match['head']}{value}{match['tail']}")
        if len(names) > _MOST_HOSTS:
            raise ValueError(f"host range in '{pattern}' has more than {_MOST_HOSTS} hosts")
    if not names:
        raise ValueError(f"host range in '{pattern}' is empty")
    return names


def _values(bounds: str) -> Iterable[str]:
    parts = bounds.split(":")
    if len(parts) not in (2, 3):
        raise ValueError("a host range is [begin:end] or [begin:end:step]")
    begin, end = parts[0] or "0", parts[1]
    if not end:
        raise ValueError("a host range needs an end")
    step = _number(parts[2]) if len(parts) == 3 else 1
    if step < 1:
        raise ValueError("the step of a host range is at least 1")
    if begin.startswith("0") and len(begin) > 1 and len(begin) != len(end):
        raise ValueError(f"'{begin}' and '{end}' of a host range must have the same length")
    if len(begin) == len(end) == 1 and begin in string.ascii_letters and end in string.ascii_letters:
        first, last = string.ascii_letters.index(begin), string.ascii_letters.index(end)
        return string.ascii_letters[first : last + 1 : step]
    width = len(begin) if begin.startswith("0") else 0
    return (str(value).zfill(width) for value in range(_number(begin), _number(end) + 1, step))


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{text}' in a host range is neither a number nor a letter")
    return int(text)
