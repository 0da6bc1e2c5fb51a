"""The variables at the top: data source, model, release, host. Each narrows those after it."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import dashboard as model

from dashboards.grafana.source.style import SOURCE

SERVING = 'ddtree_ops_release_info{role="serving"'
EVERYTHING = model.VariableOption(selected=True, text="All", value="$__all")


def data_source() -> build.DatasourceVariable:
    """Which Prometheus; no dashboard names one."""
    return build.DatasourceVariable("datasource").label("Prometheus").type("prometheus")


def chosen(name: str, selector: str, *, several: bool = True) -> build.QueryVariable:
    """The values of label `name`, read anew when the time range changes: releases and hosts come and go."""
    variable = (
        build.QueryVariable(name)
        .label(name.capitalize())
        .query(
            {"qryType": 1, "query": f"label_values({selector}, {name})", "refId": "PrometheusVariableQueryEditor-VariableQuery"}
        )
        .datasource(SOURCE)
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(several)
        .include_all(several)
    )
    return variable.current(EVERYTHING) if several else variable


def variables(*, one_host: bool) -> list[build.DatasourceVariable | build.QueryVariable]:
    """Model, then release, then host: hosts are those that served the releases within the time range."""
    return [
        data_source(),
        chosen("model", f"{SERVING}}}"),
        chosen("release", f'{SERVING},model=~"$model"}}'),
        chosen("host", f'{SERVING},model=~"$model",release=~"$release"}}', several=not one_host),
    ]
