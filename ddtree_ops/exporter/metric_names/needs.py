"""Which metrics our dashboards and rules need, read from their own files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.fleet.source import read_plain
from ddtree_ops.units.promql import Matcher, Selector, selectors

SGLANG, SGLANG_STORED, OWN = "sglang:", "sglang_", "ddtree_ops_"
_MOST_DEPTH = 60
_LABEL_VALUES = re.compile(r"\s*label_values\(\s*(?:(?P<of>.*),)?\s*(?P<label>\w+)\s*\)\s*", re.DOTALL)
_QUERY_RESULT = re.compile(r"\s*query_result\((?P<of>.*)\)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """Who needs it: `what` is alert, rule, panel, variable or annotation; `name` its own; `file` where it stands."""

    what: str
    name: str
    file: str

    def __str__(self) -> str:
        return f"{self.what} '{self.name}' ({self.file})"


@dataclass(frozen=True, slots=True)
class Need:
    """One series that one place asks for, SGLang's under the spelling in which it is stored."""

    metric: str
    matchers: tuple[Matcher, ...]
    use: Use


def stored(name: str) -> str:
    """The name under which our scrape configuration stores it."""
    return SGLANG_STORED + name.removeprefix(SGLANG) if name.startswith(SGLANG) else name


def needs(folder: Path) -> tuple[Need, ...]:
    """All needs of the dashboards and rules below `folder`, but for what rules themselves record.

    Raises InvalidInventory for a rule file that is no YAML, DdtreeOpsError for a dashboard that is no JSON.
    """
    recorded: set[str] = set()
    found: list[tuple[Use, str]] = []
    for path in sorted((folder / "prometheus" / "rules").glob("*.yml")):
        for rule in _rules(read_plain(path)):
            if isinstance(rule.get("record"), str):
                recorded.add(rule["record"])
            what = "alert" if "alert" in rule else "rule"
            found.append((Use(what, str(rule.get("alert", rule.get("record"))), path.name), str(rule.get("expr", ""))))
    for path in sorted((folder / "grafana").glob("*.json")):
        found += _queries(_read_json(path), path.name)
    return tuple(_needs(found, recorded))


def _needs(found: Iterable[tuple[Use, str]], recorded: set[str]) -> Iterator[Need]:
    for use, expression in found:
        for selector in _selectors(expression):
            if selector.name and selector.name not in recorded:
                yield Need(stored(selector.name), selector.matchers, use)


def _selectors(query: str) -> tuple[Selector, ...]:
    """Of PromQL, or of the functions that only Grafana's variables know (its Prometheus data source: "Template variables")."""
    if found := _LABEL_VALUES.fullmatch(query):
        wanted = Matcher(found["label"], "=~", ".+")
        return tuple(Selector(one.name, (*one.matchers, wanted)) for one in selectors(found["of"] or ""))
    if found := _QUERY_RESULT.fullmatch(query):
        return selectors(found["of"])
    return selectors(query)


def _rules(document: object) -> Iterator[Mapping[str, Any]]:
    groups = document.get("groups") if isinstance(document, dict) else None
    for group in groups if isinstance(groups, list) else ():
        rules = group.get("rules") if isinstance(group, dict) else None
        yield from (rule for rule in rules if isinstance(rule, dict)) if isinstance(rules, list) else ()


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DdtreeOpsError(f"{path} is no dashboard: {error}", hint="make it again: make docs") from error


def _queries(dashboard: Any, file: str) -> Iterator[tuple[Use, str]]:
    if not isinstance(dashboard, dict):
        return
    for panel in _panels(dashboard.get("panels"), 0):
        for target in _mappings(panel.get("targets")):
            if isinstance(target.get("expr"), str):
                yield Use("panel", str(panel.get("title", "")), file), target["expr"]
    for variable in _mappings(_section(dashboard, "templating")):
        query = variable.get("query")
        text = query.get("query") if isinstance(query, dict) else query
        if variable.get("type") == "query" and isinstance(text, str):
            yield Use("variable", str(variable.get("name", "")), file), text
    for annotation in _mappings(_section(dashboard, "annotations")):
        if isinstance(annotation.get("expr"), str):
            yield Use("annotation", str(annotation.get("name", "")), file), annotation["expr"]


def _section(dashboard: Mapping[str, Any], name: str) -> object:
    section = dashboard.get(name)
    return section.get("list") if isinstance(section, dict) else None


def _mappings(items: object) -> Iterator[Mapping[str, Any]]:
    yield from (one for one in items if isinstance(one, dict)) if isinstance(items, list) else ()


def _panels(items: object, depth: int) -> Iterator[Mapping[str, Any]]:
    """Panels of rows that are folded lie inside the row."""
    for panel in _mappings(items):
        yield panel
        if depth < _MOST_DEPTH:
            yield from _panels(panel.get("panels"), depth + 1)
