"""Which form a log has, told from its beginning."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from enum import StrEnum

from ddtree_ops.triage.forms.verbose import START

ENOUGH = 1 << 16
_EXPORT = re.compile(rb"(?:__CURSOR|__REALTIME_TIMESTAMP|__MONOTONIC_TIMESTAMP|_BOOT_ID|MESSAGE|PRIORITY)(?:=|\n)")
_ENTRY = re.compile(rb"(?:\A|\n)__CURSOR=[\x21-\x7e]{1,512}\n__REALTIME_TIMESTAMP=\d{1,20}\n")
_NO_TEXT = re.compile(rb"[\x00-\x06\x0e-\x1a\x80-\xff]")
_NOTHING = b" \t\r\n\x1e\xef\xbb\xbf"


class FormName(StrEnum):
    """The forms that are read in different ways; all text is one of them (text_lines.py)."""

    EXPORT = "export"
    JSON = "json"
    JSON_PRETTY = "json-pretty"
    VERBOSE = "verbose"
    TEXT = "text"


def detect(chunks: Iterator[bytes]) -> tuple[FormName, Iterator[bytes]]:
    """The form, and all chunks again. Waits for the first line only, so a log can be followed from its beginning."""
    start = b""
    for chunk in chunks:
        start += chunk
        if len(start) > ENOUGH or b"\n" in _first(start):
            break
    return form_of(start), itertools.chain((start,), chunks)


def form_of(start: bytes) -> FormName:
    """The form of a log that begins with these bytes."""
    first = _first(start[:ENOUGH])
    line = first.split(b"\n", 1)[0].rstrip()
    if line == b"{":
        return FormName.JSON_PRETTY
    if line.startswith(b"{") or (line.startswith(b"data:") and line[5:].lstrip().startswith(b"{")):
        return FormName.JSON
    if _EXPORT.match(first):
        return FormName.EXPORT
    if START.match(line):
        return FormName.VERBOSE
    entry = _ENTRY.search(start)  # behind damage; behind text it would be a quotation
    return FormName.EXPORT if entry and _NO_TEXT.search(start, 0, entry.start()) else FormName.TEXT


def _first(start: bytes) -> bytes:
    """From the first line that says something: journalctl may begin with a remark."""
    text = start.lstrip(_NOTHING)
    while text.startswith(b"-- ") and b"\n" in text:
        text = text.split(b"\n", 1)[1].lstrip(_NOTHING)
    return text
