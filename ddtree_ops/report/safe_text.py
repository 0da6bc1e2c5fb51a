"""Log text is hostile: what may go to a terminal, into Markdown, into a report."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ddtree_ops.triage.lines import clean

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INVISIBLE = re.compile(r"[\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]|[\U000e0000-\U000e007f]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>&~])")
# What a traceback may quote of a request: RFC 6750, section 2.1 (Bearer) and RFC 9110, section 11.6.2 (Authorization).
_BEARER = re.compile(r"(?i)(bearer(?:[\s:=]|%20)+[\"'\\]{0,4})[^\s\"']+")
_AUTHORIZATION = re.compile(
    r"(?i)(authorization(?:[\"'\\]{1,4}\s{0,8},|[\"'\\]{0,4}\s{0,8}[:=])\s{0,8}(?:b(?=[\"']))?[\"'\\]{0,4}(?:[a-z]{1,20}\s{1,8})?)"
    r"[^\s\"']+"
)
_BACKTICKS = re.compile(r"`+")


def one_line(text: str, limit: int = 2000) -> str:
    """Text for one line: no control, direction or invisible characters, no line breaks, no bearer token, cut at `limit`."""
    flat = redacted(" ".join(clean(_INVISIBLE.sub("", text)).split()))
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"


def block(text: str) -> str:
    """The same with line breaks and indentation kept; tabs become spaces."""
    return redacted("\n".join(clean(_INVISIBLE.sub("", line)).expandtabs(4).rstrip() for line in text.split("\n")))


def redacted(text: str) -> str:
    """Text without the credentials of an HTTP request: nobody pastes a key into an issue by way of a report."""
    return _BEARER.sub(r"\1***", _AUTHORIZATION.sub(r"\1***", text))


def markdown(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no links, no mentions."""
    return _MARKDOWN.sub(r"\\\1", one_line(text)).replace("@", "@\u2060")


def fenced(text: str) -> str:
    """A code block that its content can't end."""
    safe = block(text)
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(safe)), default=0))
    return f"{fence}text\n{safe}\n{fence}"


def code_span(text: str) -> str:
    """Inline code that its content can't end (CommonMark, code spans)."""
    safe = one_line(text)
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(safe)), default=0))
    padding = " " if safe.startswith("`") or safe.endswith("`") else ""
    return f"{fence}{padding}{safe}{padding}{fence}"


def rfc3339(time_us: int | None) -> str | None:
    """Microseconds since the epoch as UTC time; None for a time that no calendar has."""
    if time_us is None:
        return None
    try:
        moment = _EPOCH + timedelta(microseconds=time_us)
    except OverflowError:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment.year >= 1970 else None
