"""The page of one host, in parts that change by themselves."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ddtree_ops import __version__
from ddtree_ops.exporter.page.board import Frame
from ddtree_ops.exporter.page.host_view import host_view
from ddtree_ops.exporter.page.icon import icon, title
from ddtree_ops.exporter.page.render import address, clock, template, timed
from ddtree_ops.exporter.sight.model import HostSight, State
from ddtree_ops.exporter.sight.words import plain

PARTS = ("head", "servers", "failures", "gpus", "deploys")


def parts(sight: HostSight, fleet: bool) -> dict[str, str]:
    """HTML by name of the part; times are still to be told in words."""
    view = host_view(sight, fleet)
    macros: Any = template("host_parts.html.j2").module
    return {name: str(getattr(macros, name)(view)) for name in PARTS}


def host_title(sight: HostSight) -> tuple[str, str]:
    """Title and icon."""
    counted = Counter(server.state for server in sight.servers)
    counts = [(state, counted[state]) for state in State if counted[state]]
    return title(counts, plain(sight.host)), icon(counts)


def host_page(frame: Frame, sight: HostSight) -> str:
    from markupsafe import Markup  # noqa: PLC0415  comes with jinja2

    words, picture = host_title(sight)
    page = template("host.html.j2").render(
        title=words,
        icon=picture,
        events=address("/events", {"host": sight.host}),
        now=frame.now,
        clock=clock(frame.now),
        home=frame.fleet,
        release=__version__,
        parts={name: Markup(html) for name, html in parts(sight, frame.fleet).items()},  # noqa: S704  our own template's
    )
    return timed(page, frame.now)
