"""What stands before each line of one traceback, learned from its header's line and the line that follows.

A logger puts its prefix before every line or before the first one only, and no line says which. A known prefix (prefixes.py)
may differ in its times; in numbers (line numbers, process ids) only if it did so between the frames, for another number
later on means another record. What else stood before the header may be a logger's prefix that nobody knows, or words.

A launcher's prefix may stand before a record's own (`(Engine pid=7) [2026-04-02 03:04:05 TP1] Scheduler hit ...`): then the
record's stands before the header only, the launcher's before every line. It is learned as what both lines share.
"""

from __future__ import annotations

import re

from ddtree_ops.triage.blocks.frames import parse_frame
from ddtree_ops.triage.prefixes import Prefix

_WORDS_LIMIT = 200
_TIMES = re.compile(r"[\d./-]{0,12}[ T-]?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?")
_DIGITS = re.compile(r"\d+")
_FRAME = 'File "'
_INSIDE = re.compile(r"\s*[│|]|\s*\+ Exception Group|\s+\[Previous line|  File \"/")


class Learned:
    """How the lines of one traceback are prefixed. `each`: before every line; None as long as it isn't known.

    `margin`: the length of the part of `before` that is an unknown launcher's, once it is known.
    """

    def __init__(self, prefix: Prefix, before: str) -> None:
        self.each: bool | None = None if prefix.stamp else False
        self.margin = 0
        self._stamp = prefix.stamp
        self._varies = False
        self._before = before
        self._words = _pattern(before)
        self._words_known = False

    def inside(self, prefix: Prefix, text: str, *, in_frames: bool) -> str | None:
        """The line as it stands in the traceback, or None if it is another record's. `text`: the whole line."""
        if self.each is None:
            self._learn(prefix)
        if prefix.stamp:
            if not self.each or not self._matches(prefix.stamp, in_frames):
                return None
        elif self.each:
            return None
        return self._without_words(prefix.rest if prefix.stamp else text)

    def shares(self, stamp: str) -> bool:
        """Whether the prefix is the launcher's part of the one that stood before the header."""
        return _TIMES.sub("@", self._stamp).startswith(_TIMES.sub("@", stamp).rstrip())

    def _learn(self, prefix: Prefix) -> None:
        if not prefix.stamp:
            self.each = False if prefix.rest.strip() else None
        elif not self._reads_on(prefix.rest):
            return
        elif _alike(prefix.stamp, self._stamp):
            self.each = True
        elif self.shares(prefix.stamp):
            self.each, self._stamp, self._words = True, prefix.stamp, None

    def _reads_on(self, rest: str) -> bool:
        inner = self._words.match(rest) if self._words else None
        rest = rest[inner.end() :] if inner else rest
        return parse_frame(rest) is not None or _INSIDE.match(rest) is not None

    def _matches(self, stamp: str, in_frames: bool) -> bool:
        if _TIMES.sub("@", stamp).rstrip() == _TIMES.sub("@", self._stamp).rstrip():
            return True
        alike = _alike(stamp, self._stamp)
        self._varies = self._varies or (alike and in_frames)
        return alike and self._varies

    def _without_words(self, text: str) -> str | None:
        if self._words is None:
            return text
        found = self._words.match(text)
        if found is None and not self._words_known:
            self._words = self._launchers(text)
            found = self._words.match(text) if self._words else None
        if found:
            self._words_known = True
            return text[found.end() :]
        return None if self._words_known else text  # else they were part of a message, not of every line

    def _launchers(self, text: str) -> re.Pattern[str] | None:
        """The part of the words that stands before this frame too."""
        at = text.find(_FRAME, 0, _WORDS_LIMIT)
        words = text[:at].rstrip() if at > 0 else ""
        shared = re.match(_free(words), self._before) if words else None
        if shared is None:
            return None
        self.margin = len(self._before) - len(self._before[shared.end() :].lstrip(" "))
        return _pattern(self._before[: self.margin])


def _alike(one: str, other: str) -> bool:
    return _DIGITS.sub("0", one).rstrip() == _DIGITS.sub("0", other).rstrip()


def _pattern(before: str) -> re.Pattern[str] | None:
    """What stood before the header, any numbers; the blank that ends it is missing on empty lines."""
    words = before.rstrip()
    if not words or len(words) > _WORDS_LIMIT:
        return None
    return re.compile(f"{_free(words)} {{0,{len(before) - len(words)}}}")


def _free(words: str) -> str:
    return _DIGITS.sub(r"\\d{1,20}", re.escape(words))
