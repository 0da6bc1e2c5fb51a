"""What dashboards and rules need, against recorded pages of real servers and of our exporter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ddtree_ops import assets
from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.exporter.catalogue import BY_NAME
from ddtree_ops.exporter.metric_names.drift import Outcome, Verdict, of_exporter, of_server, read_page
from ddtree_ops.exporter.metric_names.late import AFTER_A_REQUEST, ONCE_IT_HAPPENED
from ddtree_ops.exporter.metric_names.needs import Need, Use, needs
from ddtree_ops.units.promql import selectors

RECORDED = (Path(__file__).parents[1] / "monitoring" / "data" / "sglang.metrics.txt").read_bytes()
PANEL = Use("panel", "P", "d.json")


def _need(expression: str) -> list[Need]:
    from ddtree_ops.exporter.metric_names.needs import stored

    return [Need(stored(one.name), one.matchers, PANEL) for one in selectors(expression)]


def _judge(expression: str, page: bytes = RECORDED, *, speculates: bool = True) -> Outcome:
    (outcome,) = of_server(_need(expression), read_page(page), speculates=speculates)
    return outcome


def test_both_spellings_are_one() -> None:
    for page in (RECORDED, RECORDED.replace(b"sglang:", b"sglang_")):
        for name in ("sglang:num_running_reqs", "sglang_num_running_reqs"):
            assert _judge(name, page).verdict is Verdict.THERE


def test_a_renamed_metric_is_missing_with_its_user_and_near_names() -> None:
    outcome = _judge("sglang_num_running_requests")
    assert (outcome.verdict, outcome.uses) == (Verdict.MISSING, (PANEL,))
    assert "sglang_num_running_reqs" in outcome.near


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ('sglang_num_running_reqs{engine="x"}', "it has no label 'engine'"),
        ('sglang_time_to_first_token_seconds_bucket{le="0.3"}', 'it has no bucket le="0.3"; bounds are 0.1, 0.2, 0.4'),
        ('sglang_time_to_first_token_seconds_bucket{le=~"3(\\\\.0)?"}', "it has no bucket le=~"),
    ],
)
def test_labels_and_bucket_bounds_count(expression: str, why: str) -> None:
    outcome = _judge(expression)
    assert outcome.verdict is Verdict.MISSING
    assert outcome.why.startswith(why)


@pytest.mark.parametrize(
    "expression",
    [
        'sglang_num_running_reqs{host="h",port="1",model=~"m"}',  # of discovery
        'sglang_time_to_first_token_seconds_bucket{le=~"2(\\\\.0)?"}',
        'sglang_time_to_first_token_seconds_bucket{le="+Inf"}',
        'sglang_num_running_reqs{engine_type="anything"}',
    ],
)
def test_what_can_match_is_there(expression: str) -> None:
    assert _judge(expression).verdict is Verdict.THERE


LENGTHS = "ddtree_ops_speculation_acceptance_length_tokens_bucket"


def _of_block_size(size: int, expression: str) -> list[Outcome]:
    page = "".join(f'{LENGTHS}{{le="{bound}.0"}} 1\n' for bound in range(1, size + 1)) + f'{LENGTHS}{{le="+Inf"}} 1\n'
    return list(of_exporter(_need(expression), read_page(page.encode())))


def test_a_count_that_no_step_can_reach_is_no_drift() -> None:
    expressions = "".join(rf'{LENGTHS}{{le=~"{bound}(\\.0)?"}} + ' for bound in (1, 7, 11)) + "1"
    beyond, there = _of_block_size(8, expressions)
    assert (beyond.verdict, there.verdict) == (Verdict.LATER, Verdict.THERE)
    assert beyond.why == "bounds beyond 8 don't come with this configuration"
    assert [one.verdict for one in _of_block_size(16, expressions)] == [Verdict.THERE]
    (within,) = _of_block_size(8, LENGTHS + '{le="7.5"}')
    assert within.verdict is Verdict.MISSING
    assert "never has it" in within.fix


def test_a_bound_beyond_all_seconds_is_drift() -> None:
    """An alert for it could never fire, with whatever settings."""
    assert _judge('sglang_time_to_first_token_seconds_bucket{le="1e6"}').verdict is Verdict.MISSING
    assert _judge('sglang_time_to_first_token_seconds_bucket{le="100000"}').verdict is Verdict.MISSING


def test_what_comes_with_use_is_no_drift_until_then() -> None:
    assert _judge("sglang_num_retracted_requests_total").verdict is Verdict.LATER
    fresh = b"sglang:num_running_reqs 0\n"
    assert _judge("sglang_e2e_request_latency_seconds_bucket", fresh).verdict is Verdict.LATER
    answered = fresh + b"sglang:num_requests_total 3\n"
    assert _judge("sglang_e2e_request_latency_seconds_bucket", answered).verdict is Verdict.MISSING
    assert _judge("sglang_ddtree_verify_steps_total", answered).verdict is Verdict.MISSING
    assert _judge("sglang_ddtree_verify_steps_total", answered, speculates=False).verdict is Verdict.LATER


def test_the_recorded_page_has_all_that_any_request_brings() -> None:
    """Else a metric stands in the wrong list: the recorded server was under load, with aborts, and never short of KV slots."""
    page = read_page(RECORDED)
    families = {name for name in AFTER_A_REQUEST if not {name, f"{name}_bucket"} & set(page)}
    assert families == set()
    happened = {name for name in ONCE_IT_HAPPENED if {name, f"{name}_bucket"} & set(page)}
    seen = ("sglang_inter_token_latency_seconds", "sglang_cached_tokens_total", "sglang_num_aborted_requests_total")
    assert happened == set(seen)


EXPORTER = b"""ddtree_ops_collector_success{collector="unit"} 1
ddtree_ops_collector_success{collector="drift"} 0
ddtree_ops_server_ready{port="30000"} 1
"""


@pytest.mark.parametrize(
    ("name", "verdict", "why"),
    [
        ("ddtree_ops_server_ready", Verdict.THERE, ""),
        ("ddtree_ops_load_eta_seconds", Verdict.LATER, "nothing of the kind now"),
        ("ddtree_ops_release_drift_items", Verdict.MISSING, "the exporter's collector 'drift' failed"),
        ("ddtree_ops_gpus_seen", Verdict.MISSING, "the exporter has no collector 'gpus'"),
        ("ddtree_ops_speculation_acceptance_length_tokens_bucket", Verdict.MISSING, "the exporter has no collector 'server'"),
        ("ddtree_ops_build_info", Verdict.MISSING, "every exporter has it"),
        ("ddtree_ops_server_redy", Verdict.MISSING, "no exporter that this command knows has it"),
    ],
)
def test_the_exporters_page(name: str, verdict: Verdict, why: str) -> None:
    (outcome,) = of_exporter(_need(name), read_page(EXPORTER))
    assert outcome.verdict is verdict
    assert outcome.why.startswith(why)
    assert ("ddtree_ops_server_ready" in outcome.near) == (name == "ddtree_ops_server_redy")


def test_a_metric_that_the_exporter_renamed_is_missing() -> None:
    page = EXPORTER.replace(b"server_ready", b"servers_ready")
    (outcome,) = of_exporter(_need("ddtree_ops_server_ready"), read_page(page))
    assert (outcome.verdict, outcome.fix) == (Verdict.MISSING, "install the exporter again, from the version of this command")
    assert "ddtree_ops_servers_ready" in outcome.why


def test_a_hostile_page_gives_nothing() -> None:
    assert read_page(b"sglang:\xff\x00{ 1\nsglang:a{b=} 1\nsglang:c" + b"x" * 10**6 + b" 1\n") == {}


def test_needs_are_read_from_rules_and_dashboards(tmp_path: Path) -> None:
    rules, boards = tmp_path / "prometheus" / "rules", tmp_path / "grafana"
    rules.mkdir(parents=True)
    boards.mkdir()
    (rules / "r.yml").write_text(
        "groups:\n- name: g\n  rules:\n  - {record: 'a:b', expr: 'rate(sglang:x_total[5m])'}\n"
        "  - {alert: A, expr: 'a:b > 1 and ddtree_ops_y'}\n"
    )
    board = {
        "panels": [{"type": "row", "panels": [{"title": "P", "targets": [{"expr": "sglang_z"}, {"expr": None}, 3]}]}],
        "templating": {
            "list": [{"type": "query", "name": "v", "query": {"query": 'label_values(ddtree_ops_i{r="s"}, release)'}}]
        },
        "annotations": {"list": [{"name": "D", "expr": "1000 * ddtree_ops_d"}, {"builtIn": 1}]},
    }
    (boards / "d.json").write_text(json.dumps(board))
    found = [(one.metric, str(one.use), [matcher.label for matcher in one.matchers]) for one in needs(tmp_path)]
    assert found == [
        ("sglang_x_total", "rule 'a:b' (r.yml)", []),
        ("ddtree_ops_y", "alert 'A' (r.yml)", []),
        ("sglang_z", "panel 'P' (d.json)", []),
        ("ddtree_ops_i", "variable 'v' (d.json)", ["r", "release"]),
        ("ddtree_ops_d", "annotation 'D' (d.json)", []),
    ]
    (boards / "d.json").write_text("{")
    with pytest.raises(DdtreeOpsError, match=r"d\.json is no dashboard"):
        needs(tmp_path)


def test_our_own_dashboards_and_rules_ask_for_nothing_that_cannot_be() -> None:
    """The repository's own files: every name of ours is in the catalogue, every one of SGLang's on the recorded page or late."""
    needed = needs(assets.dashboards())
    assert len(needed) > 100
    ours = {one.metric for one in needed if one.metric.startswith("ddtree_ops_")}
    known = {f"{name}{suffix}" for name in BY_NAME for suffix in ("", "_bucket", "_count", "_sum")}
    assert ours <= known
    outcomes = of_server(needed, read_page(RECORDED), speculates=True)
    assert [(one.metric, one.why) for one in outcomes if one.verdict is Verdict.MISSING] == []
