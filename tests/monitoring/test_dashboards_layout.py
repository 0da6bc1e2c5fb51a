"""The committed dashboards: current, as Grafana's schema says, and laid out so that nothing lies over anything."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from itertools import chain, combinations
from typing import Any

import pytest

from dashboards.grafana.source.catalogue import rendered
from tests.monitoring.grafana import DASHBOARDS, FOLDER, load, panels
from tests.monitoring.grafana_schema import mistakes

UNITS = {"none", "short", "percentunit", "s", "celsius", "watt", "ops", "reqps", "suffix: tok/s"}


def test_committed_files_are_what_the_source_makes() -> None:
    made = rendered()
    assert set(made) == set(DASHBOARDS)
    for name, text in made.items():
        assert (FOLDER / name).read_text() == text, f"{name} is old: python -m dashboards.grafana"


@pytest.mark.parametrize("name", DASHBOARDS)
def test_schema_of_grafana(name: str) -> None:
    assert mistakes(load(name)) == []


def _deep(dashboard: dict[str, Any], *path: str | int) -> Any:
    for step in path:
        dashboard = dashboard[step]  # type: ignore[index]
    return dashboard


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        ((), "schemaVersion", "41"),
        ((), "graphTolltip", 1),
        (("panels", 0), "type", "stats"),
        (("panels", 0, "options"), "colorMode", "loud"),
        (("panels", 0, "fieldConfig", "defaults"), "units", "s"),
        (("panels", 0, "targets", 0), "query", "up"),
        (("templating", "list", 1), "refresh", 7),
    ],
)
def test_schema_check_sees_mistakes(path: tuple[str | int, ...], key: str, value: object) -> None:
    dashboard = copy.deepcopy(load("ddtree-fleet.json"))
    _deep(dashboard, *path)[key] = value
    assert mistakes(dashboard), f"{key}={value!r} was taken"


def _overlap(one: Mapping[str, int], other: Mapping[str, int]) -> bool:
    across = one["x"] < other["x"] + other["w"] and other["x"] < one["x"] + one["w"]
    return across and one["y"] < other["y"] + other["h"] and other["y"] < one["y"] + one["h"]


@pytest.mark.parametrize("name", DASHBOARDS)
def test_no_panel_lies_over_another_or_over_the_edge(name: str) -> None:
    places = [(panel["title"], panel["gridPos"]) for panel in load(name)["panels"]]
    for (title, one), (other, two) in combinations(places, 2):
        assert not _overlap(one, two), f"{title} lies over {other}"
    for title, place in places:
        assert place["x"] + place["w"] <= 24, f"{title} is wider than the grid"
    # Every line of the grid is filled from edge to edge.
    for y in {place["y"] for _, place in places}:
        assert sum(place["w"] for _, place in places if place["y"] == y) == 24, f"line {y} isn't full"


@pytest.mark.parametrize("name", DASHBOARDS)
def test_ids_titles_and_words(name: str) -> None:
    dashboard = load(name)
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids))
    for panel in panels(dashboard):
        assert panel["title"] and len(panel["description"]) > 5, panel["title"]
        field = panel["fieldConfig"]["defaults"]
        assert panel["type"] in ("table", "state-timeline") or field["unit"] in UNITS, (panel["title"], field.get("unit"))
        assert field["thresholds"]["steps"][0]["value"] is None
    assert re.fullmatch(r"[a-z-]{8,40}", dashboard["uid"])
    assert dashboard["uid"] + ".json" == name


@pytest.mark.parametrize("name", DASHBOARDS)
def test_nothing_names_an_instance(name: str) -> None:
    dashboard = load(name)
    sources = [panel["datasource"] for panel in panels(dashboard)]
    sources += [target["datasource"] for panel in panels(dashboard) for target in panel["targets"]]
    sources += [mark["datasource"] for mark in dashboard["annotations"]["list"]]
    assert {source["uid"] for source in sources} == {"${datasource}"}
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    assert list(variables) == ["datasource", "model", "release", "host"]
    for variable in list(variables.values())[1:]:
        assert variable["refresh"] == 2, "read anew when the time range changes"
        alone = variable["name"] == "host" and name == "ddtree-server.json"
        assert (variable["multi"], variable["includeAll"]) == (not alone, not alone)
    assert "ct200" not in (FOLDER / name).read_text()


def test_dashboards_link_each_other() -> None:
    boards = [load(name) for name in DASHBOARDS]
    assert len({board["uid"] for board in boards}) == len(boards)
    for link in chain.from_iterable(board["links"] for board in boards):
        assert link["type"] == "dashboards" and link["includeVars"] and link["keepTime"]
        assert all(set(link["tags"]) <= set(board["tags"]) for board in boards)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_page_shows_every_dashboard(name: str) -> None:
    docs = FOLDER.parents[1] / "docs"
    picture = f"images/dashboards/{name.removesuffix('.json')}.png"
    assert f"]({picture})" in (docs / "dashboards.md").read_text()
    assert (docs / picture).stat().st_size < 300_000, "python -m docs.draw_dashboards"
