"""Is a dashboard what Grafana's published schema says? Asked of grafana-foundation-sdk, which Grafana Labs generate from it.

The SDK's own from_json() forgets what it doesn't know. So here the JSON is held against the types that each model declares: keys,
kinds of values, enumerations; panel options and queries by the type of the panel and the data source.
"""

from __future__ import annotations

import enum
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from grafana_foundation_sdk.cog import plugins, variants
from grafana_foundation_sdk.cog.runtime import panelcfg_config
from grafana_foundation_sdk.models import dashboard, prometheus

#: Not in the schema: what Prometheus' annotations take beside it (grafana, packages/grafana-prometheus/src/annotations.ts) ...
_ANNOTATION = frozenset({"step", "titleFormat", "textFormat", "tagKeys", "useValueForTime"})
#: ... and the query of any data source in an annotation's target ("this should be a regular DataQuery", dashboard schema).
_MORE: Mapping[type, frozenset[str]] = {
    dashboard.AnnotationQuery: _ANNOTATION,
    dashboard.AnnotationTarget: frozenset({"expr", "refId", "interval"}),
}
#: Attributes that Python can't call as JSON does.
_RENAMED = {
    "id_val": "id",
    "type_val": "type",
    "range_val": "range",
    "format_val": "format",
    "list_val": "list",
    "from_val": "from",
}
_RENAMED |= {"filter_val": "filter", "min_val": "min", "max_val": "max", "auto_count": "auto_count", "auto_min": "auto_min"}
plugins.register_default_plugins()


def mistakes(found: Any) -> list[str]:
    """Every place where a dashboard is not as the schema says; empty if it is."""
    return list(_object(found, dashboard.Dashboard, "dashboard"))


def _object(found: Any, model: type, where: str, panel: str = "") -> Iterator[str]:
    if not isinstance(found, dict):
        yield f"{where}: {found!r} is no {model.__name__}"
        return
    declared = {_key(name): kind for name, kind in _hints(model).items()}
    panel = found.get("type", "") if model is dashboard.Panel else panel
    if panel and panelcfg_config(panel) is None and model is dashboard.Panel:
        yield f"{where}: no such panel: {panel}"
        return
    for key, value in found.items():
        place = f"{where}.{key}"
        if key not in declared:
            if key not in _MORE.get(model, ()):
                yield f"{place}: no such key of {model.__name__}"
        elif model is dashboard.Panel and key == "options":
            yield from _hooked(value, panel, "options", place)
        elif model is dashboard.FieldConfig and key == "custom":
            yield from _hooked(value, panel, "field_config", place)
        else:
            yield from _value(value, declared[key], place, panel)


def _hooked(found: Any, panel: str, which: str, where: str) -> Iterator[str]:
    """Options of a kind of panel. A kind without any has none to say."""
    hook = getattr(panelcfg_config(panel), f"{which}_from_json_hook")
    if hook is None:
        yield from (f"{where}: a {panel} has none",) if found else ()
        return
    yield from _object(found, type(hook({})), where)


def _value(found: Any, kind: Any, where: str, panel: str) -> Iterator[str]:
    origin = typing.get_origin(kind)
    if kind in (object, Any):
        return
    if origin in (typing.Union, types.UnionType):
        kinds = [one for one in typing.get_args(kind) if found is None or one is not type(None)]
        tried = [list(_value(found, one, where, panel)) for one in kinds]
        # What fits best tells most: a row is a row, whatever a panel would have.
        yield from min(tried, key=len)
    elif origin is list:
        if not isinstance(found, list):
            yield f"{where}: {found!r} is no list"
            return
        for index, item in enumerate(found):
            yield from _value(item, typing.get_args(kind)[0], f"{where}[{index}]", panel)
    elif origin is dict:
        for key, item in found.items() if isinstance(found, dict) else ():
            yield from _value(item, typing.get_args(kind)[1], f"{where}.{key}", panel)
    elif origin is typing.Literal:
        yield from () if found in typing.get_args(kind) else (f"{where}: {found!r} is none of {typing.get_args(kind)}",)
    elif kind is variants.Dataquery:
        yield from _object(found, prometheus.Dataquery, where)
    elif isinstance(kind, type):
        yield from _single(found, kind, where, panel)


def _single(found: Any, kind: type, where: str, panel: str) -> Iterator[str]:
    if issubclass(kind, enum.Enum):
        if found not in [item.value for item in kind]:
            yield f"{where}: {found!r} is no {kind.__name__}"
    elif kind in (int, float, str, bool, type(None)):
        fits = (int, float) if kind is float else (kind,)
        if not isinstance(found, fits) or (isinstance(found, bool) and kind is not bool):
            yield f"{where}: {found!r} is no {kind.__name__}"
    else:
        yield from _object(found, kind, where, panel)


def _hints(model: type) -> dict[str, Any]:
    return typing.get_type_hints(model, vars(sys.modules[model.__module__]))


def _key(name: str) -> str:
    if name in _RENAMED:
        return _RENAMED[name]
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)
