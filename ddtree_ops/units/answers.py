"""Judging an answer of SGLang's /generate: sound text, or what is wrong with it.

This file has no dependencies: it is shipped in the wheel `sglang-ddtree` as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_SHORT = 200
_REPEATED = 8
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Answer:
    """`problem` is None for sound text; `meta` is SGLang's meta_info. Both text and problem may quote hostile text.

    `garbage`: the server computes nonsense, and will again.
    """

    text: str
    meta: Mapping[str, Any]
    problem: str | None
    garbage: bool = False


def read_answer(body: bytes) -> Answer:
    """Judge the body of an HTTP 200. Never raises on a strange one: it becomes the problem.

    Lone surrogates, which JSON can hold and UTF-8 can't, become U+FFFD in the text and the problem.
    """
    try:
        data = json.loads(body)
        text, meta = data["text"], data.get("meta_info") or {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        text, meta = None, None
    if not isinstance(text, str) or not isinstance(meta, dict):
        return Answer("", {}, f"not an answer of /generate: {short(body)}")
    text = _SURROGATE.sub("\ufffd", text)
    if aborted := _aborted(meta.get("finish_reason")):
        return Answer(text, meta, aborted)
    if not text.strip():
        return Answer(text, meta, "the answer is empty")
    garbage = _garbage(text.strip())
    return Answer(text, meta, garbage, garbage is not None)


def short(body: bytes) -> str:
    """The beginning of a body, as one line."""
    return " ".join(body[:_SHORT].decode("utf-8", "replace").split())


def _aborted(reason: object) -> str | None:
    kind, message = (reason.get("type"), reason.get("message")) if isinstance(reason, dict) else (reason, None)
    return f"the request was aborted: {_told(message)}" if kind == "abort" else None


def _told(message: object) -> str:
    try:
        text = str(message or "no reason given")[:_SHORT]
    except RecursionError:  # lists in lists, as deep as they could be read but deeper than they can be printed
        return "a reason that can't be shown"
    return _SURROGATE.sub("\ufffd", text)


def _garbage(body: str) -> str | None:
    """NaN in the logits shows as one token for ever or as replacement characters, with HTTP 200 (vllm#42426)."""
    if len(body) >= _REPEATED and len(set(body)) == 1:
        return f"garbage: only {body[0]!r} over and over"
    if body.count("\ufffd") * 2 > len(body):
        return "garbage: mostly replacement characters"
    return None
