"""The page of one host, in parts that change by themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.exporter.page.board import Frame
from ddtree_ops.exporter.page.host_view import host_view
from ddtree_ops.exporter.page.icon import icon, title
from ddtree_ops.exporter.page.render import address, document, template, trusted
from ddtree_ops.exporter.sight.model import HostSight
from ddtree_ops.exporter.sight.order import counts
from ddtree_ops.exporter.sight.words import plain

PARTS = ("head", "servers", "failures", "gpus", "deploys")


def parts(sight: HostSight, fleet: bool) -> dict[str, str]:
    """HTML by name of the part; times are still to be told in words."""
    view = host_view(sight, fleet)
    macros: Any = template("host_parts.html.j2").module
    return {name: str(getattr(macros, name)(view)) for name in PARTS}


def host_page(frame: Frame, sight: HostSight) -> str:
    counted = counts(server.state for server in sight.servers)
    return document(
        "host.html.j2",
        frame.now,
        counted,
        title=title(counted, plain(sight.host)),
        events=address("/events", {"host": sight.host}),
        home=frame.fleet,
        parts={name: trusted(html) for name, html in parts(sight, frame.fleet).items()},
    )


@dataclass
class HostNews:
    """What is new of one host's page since its reader's last news."""

    host: str
    _parts: dict[str, str] = field(default_factory=dict, init=False)
    _words: list[str] | None = field(default=None, init=False)

    def take(self, frame: Frame) -> dict[str, Any]:
        """Changed parts; empty if nothing changed, or the host has left the fleet."""
        drawn = [one for one in frame.drawn if one.sight.host == self.host]
        if not drawn:
            return {}
        found = parts(drawn[0].sight, frame.fleet)
        changed = {name: html for name, html in found.items() if self._parts.get(name) != html}
        words = [one.row.word for one in drawn]
        news: dict[str, Any] = {"parts": changed} if changed else {}
        if self._words != words:
            counted = counts(one.server.state for one in drawn)
            news |= {"title": title(counted, plain(self.host)), "icon": icon(counted)}
            if self._words is not None:
                news["say"] = f"{plain(self.host)}: {', '.join(words)}"
        self._parts, self._words = found, words
        return news
