"""Log text is hostile: what may go to a terminal, into Markdown, into a report."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ddtree_ops.report.redaction import redacted
from ddtree_ops.triage.characters import clean

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Zero width, bidirectional control, line and paragraph separators, variation selectors, tags, lone surrogates.
_INVISIBLE = re.compile(
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    r"\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)
# What starts markup in CommonMark or GitHub's flavour (tables, strikethrough, maths, bare addresses become links): anywhere;
# not within a word; at the beginning, where it would be a heading, a list, a rule.
_MARKDOWN = re.compile(
    r"[\\`*\[\]<>&~|${}^]|_(?<![0-9A-Za-z]_)|_(?![0-9A-Za-z])|:(?=//)|(?<=\bwww)\."
    r"|^[#+=\-:]|(?:(?<=^\d)|(?<=^\d\d)|(?<=^\d\d\d))[.)]",
    re.I,
)
_REFERENCE = re.compile(r"@|#(?=\d)|(?<=GH-)(?=\d)|\b(?=[0-9a-f]{7,40}\b)")
_BACKTICKS = re.compile(r"`+")
_LONGEST_LINE = 2000
_JOINER = "\u2060"  # invisible, of no width, never breaks a line


def one_line(text: str, limit: int = _LONGEST_LINE) -> str:
    """Text for one line: no control, direction or invisible characters, no line breaks, no credential, cut at `limit`."""
    return cut(redacted(_flat(text)), limit)


def cut(text: str, limit: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def block(text: str) -> str:
    """The same with line breaks and indentation kept; tabs become spaces."""
    if text.isascii() and text.isprintable():
        return redacted(text)
    return redacted("\n".join(clean(_INVISIBLE.sub("", line)).expandtabs(4).rstrip() for line in text.split("\n")))


def several(texts: tuple[str, ...]) -> list[str]:
    """Lines that follow each other in a log; a key that spans several of them goes, too."""
    return [cut(line, _LONGEST_LINE) for line in redacted("\n".join(map(_flat, texts))).split("\n")] if texts else []


def markdown(text: str) -> str:
    """Text that Markdown shows as it is: no markup, HTML or links; no mention, issue or commit is referred to by it."""
    return _MARKDOWN.sub(r"\\\g<0>", _REFERENCE.sub(lambda found: found.group() + _JOINER, one_line(text)))


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


def _flat(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        text = clean(_INVISIBLE.sub("", text))
    return " ".join(text.split())
