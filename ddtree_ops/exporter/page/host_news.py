"""What is new of one host's page since its reader's last news."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ddtree_ops.exporter.page.board import Frame


@dataclass
class HostNews:
    """Parts of the page as this reader has them."""

    host: str
    _parts: dict[str, str] = field(default_factory=dict, init=False)
    _states: list[str] | None = field(default=None, init=False)

    def take(self, frame: Frame) -> dict[str, Any]:
        """Changed parts; empty if nothing changed, or the host has left the fleet."""
        from ddtree_ops.exporter.page.host import host_title, parts  # noqa: PLC0415  jinja2 comes with the first page

        sight = next((one for one in frame.sights if one.host == self.host), None)
        if sight is None:
            return {}
        found = parts(sight, frame.fleet)
        changed = {name: html for name, html in found.items() if self._parts.get(name) != html}
        states = [one.entry.row.word for one in frame.drawn if one.entry.sight is sight]
        news: dict[str, Any] = {"parts": changed} if changed else {}
        if self._states != states:
            title, icon = host_title(sight)
            news |= {"title": title, "icon": icon}
            if self._states is not None:
                news["say"] = f"{sight.host}: {', '.join(states)}"
        self._parts, self._states = found, states
        return news
