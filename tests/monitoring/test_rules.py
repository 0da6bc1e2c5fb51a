"""The rules hold what they promise: by promtool, and by what an alert must have."""

from __future__ import annotations

import re
from functools import cache

import pytest
import yaml

from tests.monitoring.promtool import HOME, PROJECT, RULES, WRITER, Rule, rules, run
from tests.monitoring.rule_cases import Case, all_judged, cases, without_series

ALERTS = [rule for rule in rules() if rule.alert]
LABELS = {"host", "port", "gpu", "xid", "fingerprint", "kind", "reason", "mountpoint", "collector", "job", "release"}


@pytest.mark.processes
def test_promtool_takes_the_rules() -> None:
    run(("promtool", "check", "rules", *(str(path) for path in RULES)), HOME)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return all_judged(tmp_path_factory.mktemp("cases"))


@pytest.mark.processes
@pytest.mark.parametrize("case", (without_series(), *cases()), ids=lambda case: case.name)
def test_promtool_sees_the_right_alerts_and_only_them(case: Case, judged: dict[str, str]) -> None:
    assert judged[case.name] == "SUCCESS", f"{case.content.get('name')}\n{judged[case.name]}"


def test_the_rules_and_their_page_are_made_from_the_sources_as_they_are() -> None:
    names = WRITER["values"](yaml.safe_load((HOME / "objectives.yml").read_text()))
    sources = WRITER["sources"]()
    assert [path.name for path in RULES] == sorted(path.name for path in sources)
    for source in sources:
        assert (HOME / "rules" / source.name).read_text() == WRITER["rules"](source, names), "run `make docs`"
    assert (PROJECT / "docs" / "alerts.md").read_text() == WRITER["page"](names), "run `make docs`"


def test_an_alert_that_waits_says_why_in_one_line() -> None:
    for source in WRITER["sources"]():
        for row in yaml.load(source.read_text(), yaml.CSafeLoader)["alerts"] if source.stem != "seen" else ():
            assert ("for" in row) == ("waits" in row), row["alert"]
            assert "\n" not in row.get("waits", "") and row.get("waits", ".").endswith("."), row["alert"]


def test_names_are_used_once() -> None:
    names = [rule.name for rule in rules()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule.name)
def test_an_alert_says_what_to_do(rule: Rule) -> None:
    assert set(rule.content["labels"]) == {"severity"}
    assert rule.content["labels"]["severity"] in ("page", "ticket", "info")
    notes = rule.content["annotations"]
    assert set(notes) == {"summary", "cause", "fix", "command", "runbook"}
    assert all(notes.values())
    assert notes["runbook"] == f"docs/alerts.md#{rule.name.lower()}"
    assert f"\n### {rule.name}\n" in (PROJECT / "docs" / "alerts.md").read_text()


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule.name)
def test_an_alert_is_tested_when_it_fires_and_when_it_is_over(rule: Rule) -> None:
    """One case sees no alert, later this one by name, and later none again."""
    for asked in _asked():
        fires = [time for time, query, samples in asked if f'alertname="{rule.name}"' in samples]
        quiet = [time for time, query, samples in asked if "ALERTS" in query and not samples]
        if fires and any(time < min(fires) for time in quiet) and any(time > min(fires) for time in quiet):
            return
    pytest.fail(f"no case shows {rule.name} quiet, firing and over")


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule.name)
def test_annotations_use_labels_that_the_alert_can_have(rule: Rule) -> None:
    used = set(re.findall(r"\$labels\.(\w+)", str(rule.content["annotations"])))
    assert used <= LABELS | {"what", "event", "result", "rule_group", "alertmanager"}


@cache
def _asked() -> list[list[tuple[int, str, str]]]:
    """For each case its queries: when, what, and which labels of series are expected."""
    return [
        [
            (_seconds(one["eval_time"]), one["expr"], " ".join(sample["labels"] for sample in one["exp_samples"]))
            for one in case.content.get("promql_expr_test", [])
        ]
        for case in cases()
    ]


def _seconds(time: str) -> int:
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([dhms])", str(time)))
