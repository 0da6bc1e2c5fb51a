"""Log records that a formatter wrote as JSON, one a line: python-json-logger, structlog, loguru's `serialize`, ECS and others.

Such a record says what a line of SGLang's log says, in fields: when, what, and the traceback as one text. It is given in the
shape that the server's own logger would have written, so that everything that reads lines can read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import orjson

from ddtree_ops.triage.forms.times import SECOND, rfc3339

_MARK = "Traceback (most recent call last)"
_MESSAGES = ("message", "msg", "event", "text", "body")
_TIMES = ("ts", "time", "timestamp", "@timestamp", "asctime")
_LEVELS = ("level", "levelname", "severity", "log_level", "log.level", "lvl")
_DEPTH, _FIELDS = 3, 64
_YEAR_2001, _YEAR_2286 = 1_000_000_000, 10_000_000_000  # seconds since the epoch have ten digits in between


class Record(NamedTuple):
    """`lines`: as a log would have them. `time_us`: since the epoch, if the record names a time that can be read."""

    lines: tuple[str, ...]
    time_us: int | None


def read_structured(text: str) -> Record | None:
    """The record, or None if the line is no JSON object with a level or a time and a message."""
    if not (text.startswith('{"') and text.rstrip().endswith("}")):
        return None
    try:
        data = orjson.loads(text)
    except (ValueError, UnicodeEncodeError):  # halves of surrogate pairs
        return None
    if not isinstance(data, dict) or "MESSAGE" in data:
        return None
    inner = data.get("record")  # loguru: {"text": "...", "record": {"message": ...}}
    fields = {**inner, **data} if isinstance(inner, dict) else data
    message = next((value for key in _MESSAGES if isinstance(value := fields.get(key), str)), None)
    if message is None or not any(key in fields for key in (*_LEVELS, *_TIMES)):
        return None
    time_us = next((at for key in _TIMES if (at := _time(fields.get(key))) is not None), None)
    return Record(tuple(_lines(message, _traceback(data), time_us)), time_us)


def _lines(message: str, traceback: str | None, time_us: int | None) -> Iterator[str]:
    stamp = datetime.fromtimestamp(time_us / SECOND, UTC).strftime("[%Y-%m-%d %H:%M:%S] ") if time_us is not None else ""
    first, *rest = (message.rstrip() or " ").split("\n")
    if traceback is None or _MARK in message:
        yield from (stamp + first, *rest)
        return
    header, *below = traceback.rstrip().split("\n")
    if header.startswith(_MARK) and not rest:
        yield f"{stamp}{first.rstrip(': ')}: {header}"
    else:
        yield from (stamp + first, *rest, header)
    yield from below


def _traceback(value: object, depth: int = 0) -> str | None:
    """The first text within that holds a traceback, whatever its field's name."""
    if isinstance(value, str):
        return value if _MARK in value else None
    if not isinstance(value, dict) or depth >= _DEPTH:
        return None
    inner = (_traceback(item, depth + 1) for item in list(value.values())[:_FIELDS])
    return next((text for text in inner if text is not None), None)


def _time(value: object) -> int | None:
    if isinstance(value, dict):  # loguru: {"repr": "...", "timestamp": 1.5}
        value = value.get("timestamp")
    if isinstance(value, str):
        text = value.strip().replace(",", ".", 1)
        return rfc3339(text) if text.endswith("Z") or text[-6:-5] in ("+", "-") else rfc3339(f"{text}Z")
    if isinstance(value, int | float) and not isinstance(value, bool):
        for unit in (1, 1_000, 1_000_000, 1_000_000_000):
            if _YEAR_2001 * unit <= value < _YEAR_2286 * unit:
                return int(value * SECOND // unit)
    return None
