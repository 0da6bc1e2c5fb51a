"""A dashboard from rows of panels: places, ids, variables, marks and links are the same in all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog import builder as cog
from grafana_foundation_sdk.models import dashboard as model

from dashboards.grafana.source.annotations import marks
from dashboards.grafana.source.variables import variables

WIDTH = 24
TAG = "ddtree-ops"
PanelBuilder = cog.Builder[model.Panel]


@dataclass(frozen=True, slots=True)
class Strip:
    """Panels side by side: (panel, width in 24ths), and their height."""

    height: int
    panels: tuple[tuple[PanelBuilder, int], ...]


def even(height: int, *panels: PanelBuilder) -> Strip:
    """A strip of panels of one width."""
    return Strip(height, tuple((panel, WIDTH // len(panels)) for panel in panels))


@dataclass(frozen=True, slots=True)
class Section:
    """A titled row of strips; an empty title makes none."""

    title: str
    strips: tuple[Strip, ...]


@dataclass(frozen=True, slots=True)
class Board:
    """What one dashboard is. `uid` never changes: links and bookmarks have it."""

    uid: str
    title: str
    description: str
    sections: tuple[Section, ...]
    one_host: bool = False
    begin: str = "now-6h"
    others: Sequence[tuple[str, str]] = field(default=())

    def build(self) -> model.Dashboard:
        """Grafana's model of it, with all panels in their places."""
        made = (
            build.Dashboard(self.title)
            .uid(self.uid)
            .description(self.description)
            .tags([TAG])
            .readonly()
            .timezone("browser")
            .tooltip(model.DashboardCursorSync.CROSSHAIR)
            .time(self.begin, "now")
            .refresh("30s")
            .variables(list(variables(one_host=self.one_host)))
            .annotations(marks())
            .links([_link()])
            .build()
        )
        made.panels = self._placed()
        return made

    def _placed(self) -> list[model.Panel | model.RowPanel]:
        placed: list[model.Panel | model.RowPanel] = []
        y = 0
        for section in self.sections:
            if section.title:
                place = model.GridPos(h=1, w=WIDTH, x=0, y=y)
                placed.append(model.RowPanel(title=section.title, collapsed=False, grid_pos=place, id_val=len(placed) + 1))
                y += 1
            for strip in section.strips:
                x = 0
                for builder, width in strip.panels:
                    panel = builder.build()
                    panel.id_val = len(placed) + 1
                    panel.grid_pos = model.GridPos(h=strip.height, w=width, x=x, y=y)
                    placed.append(panel)
                    x += width
                y += strip.height
        return placed


def _link() -> build.DashboardLink:
    """A link to each other dashboard of ours, with time and variables kept."""
    return (
        build.DashboardLink("ddtree-ops")
        .type(model.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .as_dropdown(False)
        .include_vars(True)
        .keep_time(True)
    )
