"""Which metrics our dashboards and rules need, read from their own files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.fleet.source import read_plain
from ddtree_ops.units.promql import Matcher, Selector, selectors

SGLANG, SGLANG_STORED, OWN = "sglang:", "sglang_", "ddtree_ops_"
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
        document: Any = read_plain(path)
        for rule in (rule for group in document["groups"] for rule in group["rules"]):
            what = "alert" if "alert" in rule else "rule"
            recorded |= {rule["record"]} if "record" in rule else set()
            found.append((Use(what, rule.get("alert", rule.get("record")), path.name), rule["expr"]))
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


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise DdtreeOpsError(f"{path} is no dashboard: {error}", hint="make it again: make docs") from error


def _queries(node: Any, file: str, title: str = "") -> Iterator[tuple[Use, str]]:
    """Whatever asks Prometheus, at any depth of a dashboard: panels (`title` is theirs), variables, annotations."""
    if isinstance(node, list):
        for one in node:
            yield from _queries(one, file, title)
    if not isinstance(node, dict):
        return
    if isinstance(node.get("expr"), str):
        yield Use("annotation" if "name" in node else "panel", node.get("name", title), file), node["expr"]
        return
    query = node.get("query")
    text = query.get("query") if isinstance(query, dict) else query
    if node.get("type") == "query" and isinstance(text, str):
        yield Use("variable", node.get("name", ""), file), text
    for one in node.values():
        yield from _queries(one, file, node.get("title", title))
