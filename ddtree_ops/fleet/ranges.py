"""Host names with ranges: `web[01:03]`, `gpu-[a:c]`, `node[1:9:2]`, and a port behind a name.

The rules are Ansible's (ansible/plugins/inventory/__init__.py, expand_hostname_range, ansible-core 2.19).
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

MOST_HOSTS = 10_000

_BRACKETED_WITH_PORT = re.compile(r"\[(?P<host>.+)\]:(?P<port>\d+)")
_WITH_PORT = re.compile(r"(?P<host>(?:[^:\[\]]|\[[^\]]*\])+):(?P<port>\d+)")
_RANGE = re.compile(r"(?P<head>[^\[]*)\[(?P<range>[^\]]*)\]")
_MOST_DIGITS = 15
_MOST_CHARACTERS = 1000


@dataclass(frozen=True)
class HostPattern:
    """A key below `hosts`, not yet expanded. `parts` are what stands at each place of the name; `port` if it names one."""

    parts: tuple[Sequence[str], ...]
    port: int | None

    @property
    def count(self) -> int:
        """How many names it stands for."""
        return math.prod(map(len, self.parts))

    def names(self) -> tuple[str, ...]:
        """All of them, the last range running fastest."""
        return tuple(map("".join, itertools.product(*self.parts)))


def read_pattern(pattern: str) -> HostPattern:
    """Raises ValueError with a readable reason, also for more than MOST_HOSTS names."""
    if len(pattern) > _MOST_CHARACTERS:
        raise ValueError(f"a host range of {len(pattern)} characters is too long")
    match = _BRACKETED_WITH_PORT.fullmatch(pattern) or _WITH_PORT.fullmatch(pattern)
    host, port = (match["host"], _number(match["port"], "port")) if match else (pattern, None)
    parts: list[Sequence[str]] = []
    end = 0
    for found in _RANGE.finditer(host):
        parts += [(found["head"],), _values(found["range"], MOST_HOSTS)]
        end = found.end()
        if math.prod(map(len, parts)) > MOST_HOSTS:
            raise ValueError(f"host range in '{pattern}' has more than {MOST_HOSTS} hosts")
    if "[" in host[end:]:
        raise ValueError(f"host range in '{pattern}' has no closing bracket")
    read = HostPattern((*parts, (host[end:],)), port)
    if not read.count:
        raise ValueError(f"host range in '{pattern}' is empty")
    return read


def _values(bounds: str, most: int) -> Sequence[str]:
    """The texts between the bounds; of more than `most` only one more, which shows that there are too many."""
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
    numbers = range(_number(begin), _number(end) + 1, step)
    return tuple(str(value).zfill(width) for value in numbers[: most + 1])


def _number(text: str, what: str = "host range") -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{text}' in a {what} is neither a number nor a letter")
    if len(text) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} digits in a {what} is too large")
    return int(text)
