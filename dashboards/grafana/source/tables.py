"""Tables of the values at the end of the time range, one row a server or a failure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import prometheus as prom
from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.cog import builder as cog
from grafana_foundation_sdk.models import common as kinds
from grafana_foundation_sdk.models import dashboard as model

from dashboards.grafana.source.panels import mapping
from dashboards.grafana.source.style import NEUTRAL, base


@dataclass(frozen=True, slots=True)
class Column:
    """A column: a label's name, or the letter of the query whose value it is. With `limits` or `named` its cells are coloured."""

    source: str
    title: str
    unit: str = ""
    decimals: int | None = None
    width: int | None = None
    limits: cog.Builder[model.ThresholdsConfig] | None = None
    named: Mapping[int, tuple[str, str]] | None = None

    @property
    def field(self) -> str:
        """How Grafana calls the field before it is renamed."""
        return f"Value #{self.source}" if len(self.source) == 1 else self.source

    def properties(self) -> list[model.DynamicConfigValue]:
        """What is set for this column alone."""
        found = [model.DynamicConfigValue("unit", self.unit)] if self.unit else []
        if self.decimals is not None:
            found.append(model.DynamicConfigValue("decimals", self.decimals))
        if self.width is not None:
            found.append(model.DynamicConfigValue("custom.width", self.width))
        if self.limits is not None:
            found.append(model.DynamicConfigValue("thresholds", self.limits.build()))
        if self.named is not None:
            found.append(model.DynamicConfigValue("mappings", [mapping(self.named)]))
        if self.limits is not None or self.named is not None:
            colored = kinds.TableColoredBackgroundCellOptions(mode=kinds.TableCellBackgroundDisplayMode.BASIC)
            found.append(model.DynamicConfigValue("custom.cellOptions", colored))
        return found


def rows(
    title: str,
    description: str,
    queries: Sequence[prom.Dataquery],
    columns: Sequence[Column],
    *,
    newest: str = "",
    empty: str = "",
) -> table.Panel:
    """The queries' rows merged by their common labels. `newest` is the title of the column that is sorted, largest first."""
    panel = base(table.Panel(), title, description, *queries)
    panel = (
        panel.thresholds(NEUTRAL)
        .align(kinds.FieldTextAlignment.AUTO)
        .cell_height(kinds.TableCellHeight.SM)
        .filterable(False)
        .show_header(True)
        .with_transformation(model.DataTransformerConfig("merge", options={}))
        .with_transformation(model.DataTransformerConfig("organize", options=_organized(queries, columns)))
    )
    for column in columns:
        if properties := column.properties():
            panel = panel.override_by_name(column.title, properties)
    if newest:
        panel = panel.sort_by([_SortedBy(newest)])
    return panel.no_value(empty) if empty else panel


@dataclass(frozen=True, slots=True)
class _SortedBy(cog.Builder[kinds.TableSortByFieldState]):
    title: str

    def build(self) -> kinds.TableSortByFieldState:
        return kinds.TableSortByFieldState(display_name=self.title, desc=True)


def _organized(queries: Sequence[prom.Dataquery], columns: Sequence[Column]) -> dict[str, object]:
    shown = [column.field for column in columns]
    values = [f"Value #{query.build().ref_id}" for query in queries] if len(queries) > 1 else ["Value"]
    return {
        "excludeByName": {name: True for name in ("Time", *values) if name not in shown},
        "indexByName": {name: index for index, name in enumerate(shown)},
        "renameByName": {column.field: column.title for column in columns},
    }
