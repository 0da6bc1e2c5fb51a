"""Reading Prometheus' text format: the samples whose names begin in a certain way, and nothing else.

Format: prometheus.io/docs/instrumenting/exposition_formats, "Text-based format" 0.0.4. What a line can't be is skipped, never
guessed: whoever needs a sample sees that it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

MOST_LINE_BYTES = 16384
MOST_SAMPLES = 4096
MOST_LABELS = 64
# Written so that no two neighbouring parts can match the same character: no backtracking on hostile lines.
_NAME = re.compile(rb"[A-Za-z_:][A-Za-z0-9_:]*")
_LABEL = re.compile(rb'([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*')
_VALUE = re.compile(rb"[ \t]+([^ \t]+)(?:[ \t]+[+-]?[0-9]+)?[ \t\r]*")
_ESCAPES = {rb"\\": b"\\", rb"\"": b'"', rb"\n": b"\n"}
_ESCAPED = re.compile(rb'\\[\\"n]')

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One line of an exposition. `labels` are sorted by name."""

    name: str
    labels: Labels
    value: float


def parse_samples(body: bytes, *prefixes: str, most: int = MOST_SAMPLES) -> tuple[Sample, ...]:
    """The samples whose names start with one of `prefixes`, in their order; never raises. At most `most` of them."""
    return tuple(islice(_samples(body, prefixes), most))


def _samples(body: bytes, prefixes: tuple[str, ...]) -> Iterator[Sample]:
    """Line by line: a body of millions of lines is never held as a list of them."""
    beginnings = b"|".join(re.escape(prefix.encode()) for prefix in prefixes)
    for line in re.finditer(rb"^(?:" + beginnings + rb")[^\n]*", body, re.MULTILINE) if prefixes else ():
        if line.end() - line.start() <= MOST_LINE_BYTES:
            sample = _sample(line.group())
            if sample is not None:
                yield sample


def _sample(line: bytes) -> Sample | None:
    name = _NAME.match(line)
    if name is None:
        return None
    at = name.end()
    labels: Labels = ()
    if line[at : at + 1] == b"{":
        read = _labels(line, at + 1)
        if read is None:
            return None
        labels, at = read
    value = _VALUE.fullmatch(line, at)
    number = _number(value.group(1)) if value else None
    return None if number is None else Sample(name.group().decode(), labels, number)


def _labels(line: bytes, at: int) -> tuple[Labels, int] | None:
    """Labels from behind the opening brace on, and where the text after the closing one begins."""
    found: dict[str, str] = {}
    while line[at : at + 1] != b"}":
        match = _LABEL.match(line, at)
        if match is None or match.group(1).decode() in found or len(found) == MOST_LABELS:
            return None
        found[match.group(1).decode()] = _unescaped(match.group(2))
        at = match.end()
        if line[at : at + 1] == b",":
            at += 1
        elif line[at : at + 1] != b"}":
            return None
    return tuple(sorted(found.items())), at + 1


def _unescaped(text: bytes) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES[found.group()], text).decode("utf-8", "replace")


def _number(text: bytes) -> float | None:
    """As Go's ParseFloat reads it, without what only Python takes (`1_000`)."""
    if b"_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None
