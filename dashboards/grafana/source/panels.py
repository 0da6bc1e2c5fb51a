"""The kinds of panels that the dashboards are made of."""

from __future__ import annotations

from collections.abc import Mapping

from grafana_foundation_sdk.builders import bargauge, common, heatmap, stat, statetimeline, timeseries
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import prometheus as prom
from grafana_foundation_sdk.cog import builder as cog
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode

from dashboards.grafana.source.style import NEUTRAL, base

Thresholds = cog.Builder[model.ThresholdsConfig]


def number(
    title: str,
    description: str,
    what: prom.Dataquery,
    *,
    unit: str = "none",
    limits: Thresholds = NEUTRAL,
    decimals: int = 0,
    named: Mapping[int, tuple[str, str]] | None = None,
    empty: str = "",
) -> stat.Panel:
    """One big number whose background tells whether it is well. `empty` stands where there is no value."""
    last = common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False)
    panel = base(stat.Panel(), title, description, what)
    if named is not None:
        panel = panel.mappings([mapping(named)])
    if empty:
        panel = panel.no_value(empty)
    return (
        panel.unit(unit)
        .decimals(decimals)
        .thresholds(limits)
        .color_scheme(build.FieldColor().mode(model.FieldColorModeId.THRESHOLDS))
        .reduce_options(last)
        .color_mode(kinds.BigValueColorMode.BACKGROUND_SOLID)
        .graph_mode(kinds.BigValueGraphMode.NONE)
        .justify_mode(kinds.BigValueJustifyMode.CENTER)
        .text_mode(kinds.BigValueTextMode.AUTO)
        .orientation(kinds.VizOrientation.AUTO)
    )


def lines(
    title: str,
    description: str,
    *queries: prom.Dataquery,
    unit: str = "short",
    limits: Thresholds | None = None,
    stacked: bool = False,
    bars: bool = False,
    top: float | None = None,
    empty: str = "",
) -> timeseries.Panel:
    """Values over time from 0 on. `limits` are drawn as dashed lines; `top` is the end of the axis where there is one."""
    panel = base(timeseries.Panel(), title, description, *queries)
    panel = (
        panel.unit(unit)
        .min(0)
        .line_width(1 if stacked or bars else 2)
        .fill_opacity(80 if bars else 35 if stacked else 6)
        .show_points(kinds.VisibilityMode.NEVER)
        .span_nulls(False)
        .draw_style(kinds.GraphDrawStyle.BARS if bars else kinds.GraphDrawStyle.LINE)
        .stacking(
            common.StackingConfig().mode(kinds.StackingMode.NORMAL if stacked or bars else kinds.StackingMode.NONE).group("A")
        )
        .color_scheme(build.FieldColor().mode(model.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .legend(_legend())
        .tooltip(common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.MULTI).sort(kinds.SortOrder.DESCENDING))
    )
    if top is not None:
        panel = panel.max(top)
    if empty:
        panel = panel.no_value(empty)
    if limits is None:
        return panel.thresholds(NEUTRAL)
    dashed = common.GraphThresholdsStyleConfig().mode(kinds.GraphThresholdsStyleMode.DASHED)
    return panel.thresholds(limits).thresholds_style(dashed)


def states(title: str, description: str, what: prom.Dataquery, named: Mapping[int, tuple[str, str]]) -> statetimeline.Panel:
    """A coloured band over time for each series; `named` gives each number a text and a colour."""
    panel = base(statetimeline.Panel(), title, description, what)
    return (
        panel.mappings([mapping(named)])
        .thresholds(NEUTRAL)
        .show_value(kinds.VisibilityMode.AUTO)
        .row_height(0.8)
        .merge_values(True)
        .fill_opacity(85)
        .line_width(0)
        .legend(
            common.VizLegendOptions()
            .show_legend(False)
            .display_mode(kinds.LegendDisplayMode.LIST)
            .placement(kinds.LegendPlacement.BOTTOM)
            .calcs([])
        )
        .tooltip(common.VizTooltipOptions().mode(kinds.TooltipDisplayMode.SINGLE).sort(kinds.SortOrder.NONE))
    )


def gauges(
    title: str, description: str, what: prom.Dataquery, *, unit: str, limits: Thresholds = NEUTRAL, top: float | None = None
) -> bargauge.Panel:
    """Horizontal bars, one a series, of the values at the end."""
    last = common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(False)
    panel = base(bargauge.Panel(), title, description, what)
    panel = (
        panel.unit(unit)
        .min(0)
        .thresholds(limits)
        .color_scheme(build.FieldColor().mode(model.FieldColorModeId.THRESHOLDS))
        .display_mode(kinds.BarGaugeDisplayMode.BASIC)
        .orientation(kinds.VizOrientation.HORIZONTAL)
        .show_unfilled(True)
        .reduce_options(last)
    )
    return panel if top is None else panel.max(top)


def density(title: str, description: str, what: prom.Dataquery, *, unit: str) -> heatmap.Panel:
    """Buckets of a histogram over time; the query's format is heatmap, its legend the bucket."""
    panel = base(heatmap.Panel(), title, description, what)
    colors = build_colors()
    return (
        panel.unit("short")
        .thresholds(NEUTRAL)
        .calculate(False)
        .color(colors)
        .cell_gap(1)
        .show_legend()
        .mode(kinds.TooltipDisplayMode.SINGLE)
        .y_axis(_axis(unit))
    )


def build_colors() -> heatmap.HeatmapColorOptions:
    """More is darker, on a scale that shows small parts too."""
    return heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Blues").exponent(0.5).steps(64)


def mapping(named: Mapping[int, tuple[str, str]]) -> model.ValueMap:
    """Numbers as words in colours."""
    return model.ValueMap(
        options={
            str(value): model.ValueMappingResult(text=text, color=color, index=index)
            for index, (value, (text, color)) in enumerate(named.items())
        }
    )


def _legend() -> common.VizLegendOptions:
    return (
        common.VizLegendOptions()
        .show_legend(True)
        .display_mode(kinds.LegendDisplayMode.LIST)
        .placement(kinds.LegendPlacement.BOTTOM)
        .calcs([])
    )


def _axis(unit: str) -> heatmap.YAxisConfig:
    return heatmap.YAxisConfig().unit(unit).axis_placement(kinds.AxisPlacement.LEFT).reverse(False)
