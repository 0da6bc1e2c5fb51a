"""The stream that keeps a page fresh (WHATWG HTML, server-sent events): only what changed since the reader's last news.

Nothing is queued for a reader: what it has is compared with what there is now, so that a slow one gets fewer and newer news.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ddtree_ops.exporter.page.board import Board, Frame
from ddtree_ops.exporter.page.fleet import fleet_title, summary
from ddtree_ops.exporter.page.icon import icon
from ddtree_ops.exporter.page.render import version
from ddtree_ops.exporter.page.table import Selection

EVERY_SECONDS = 1.0
BEAT_SECONDS = 5.0
RETRY_MS = 2000


@dataclass
class FleetNews:
    """What one reader of the table has: rows by version, their order, and the parts beside them."""

    selection: Selection
    since: str = ""

    def __post_init__(self) -> None:
        self._epoch, _, number = self.since.partition(".")
        self._version = int(number) if number.isascii() and number.isdigit() and len(number) < 16 else -1
        self._order: list[str] | None = None
        self._parts: dict[str, str] = {}

    def take(self, frame: Frame) -> dict[str, Any]:
        """What is new; empty if nothing is."""
        if self._epoch != frame.epoch:
            self._epoch, self._version, self._order, self._parts = frame.epoch, -1, None, {}
        drawn = self.selection.choose(frame.drawn)
        order = [one.id for one in drawn]
        shown = set(self._order or ())
        first = self._order is None
        rows = {one.id: one.html for one in drawn if one.version > self._version or not (first or one.id in shown)}
        news: dict[str, Any] = {"rows": rows} if rows else {}
        if order != self._order:
            news["order"] = order
        parts = {"summary": summary(frame, self.selection)}
        if parts != self._parts:
            news |= {"parts": parts, "title": fleet_title(frame), "icon": icon(frame.counts)}
        self._version, self._order, self._parts = frame.version, order, parts
        return news


def stream(board: Board, take: Callable[[Frame], Mapping[str, Any]]) -> Iterator[bytes]:
    """A chunk each EVERY_SECONDS until the page closes, empty where nothing is new; `take` says what is new of a frame."""
    chunk = f"retry: {RETRY_MS}\n\n".encode()
    beats = BEAT_SECONDS
    while not board.closing.is_set():
        frame = board.frame()
        news = take(frame)
        common = {"now": round(frame.now, 3), "page": version()}
        beats += EVERY_SECONDS
        if news or beats >= BEAT_SECONDS:
            chunk += event("news" if news else "beat", {**common, **news}, frame.mark)
            beats = 0.0
        yield chunk
        chunk = b""


def event(name: str, data: Mapping[str, Any], mark: str) -> bytes:
    """One event; JSON has no line breaks in it, so it is one line of data."""
    return f"id: {mark}\nevent: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()
