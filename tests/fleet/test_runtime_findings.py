"""Findings between spec, source, models and earlier boots: runtime_cases/cases.yml, with cases for and against each."""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from ddtree_ops.fleet import runtime_findings as runtime_findings_module
from ddtree_ops.fleet.finding import Finding, Severity
from ddtree_ops.fleet.hardware import profile
from ddtree_ops.fleet.model_on_host import ModelOnHost
from ddtree_ops.fleet.patches import Patch
from ddtree_ops.fleet.profile import Default
from ddtree_ops.fleet.release import LocalWheel, Release, ReleaseInputs, build
from ddtree_ops.fleet.runtime_findings import runtime_findings
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.fleet.width_findings import AskReach
from ddtree_ops.runtime.source.model import SourceTree
from ddtree_ops.runtime.trace_data import Reach
from ddtree_ops.runtime.widths import resolve
from ddtree_ops.units.eta import Boot, Outcome
from tests.runtime.width_tree import file, tree

FOLDER = Path(__file__).parent / "runtime_cases"
BASE: dict[str, Any] = yaml.safe_load((FOLDER / "base.yml").read_text(encoding="utf-8"))
CASES: dict[str, dict[str, Any]] = yaml.safe_load((FOLDER / "cases.yml").read_text(encoding="utf-8"))
HOOK = """model_runner.spec_algorithm.get_num_tokens_per_bs_for_target_verify(
                self.speculative_num_draft_tokens, model_runner.is_draft_worker
            )"""
PACKAGE = Path(__file__).resolve().parents[2] / "ddtree_ops" / "fleet"


def laid_over(base: Any, change: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(change, dict):
        return change
    merged = {key: laid_over(base.get(key), value) for key, value in change.items()}
    return {key: value for key, value in {**base, **merged}.items() if value is not None or key in ("tree", "model", "draft")}


def release_of(case: Mapping[str, Any]) -> Release:
    hardware = profile(case["hardware"])
    own = case.get("profile_args", {})
    kept = tuple(one for one in hardware.server_args if one.name not in own)
    given = tuple(Default(name, value, "test", "test") for name, value in own.items() if value is not None)
    spec = {
        **case["spec"],
        "server_args": {name: value for name, value in case["spec"]["server_args"].items() if value is not None},
    }
    inputs = ReleaseInputs("lab", "x", "[Unit]", (LocalWheel("/no/such.whl", "0"),))
    return build(ServingSpec.model_validate(spec), dataclasses.replace(hardware, server_args=(*kept, *given)), inputs)


@pytest.fixture(autouse=True, scope="module")
def _each_tree_once() -> Iterator[None]:
    """The same trees come dozens of times, and of changed ones all files but one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ast, "parse", functools.cache(ast.parse))
        patch.setattr(runtime_findings_module, "resolve", functools.cache(resolve))
        yield


@functools.cache
def _tree(names: tuple[str, ...]) -> SourceTree:
    return tree(*names)


def tree_of(case: Mapping[str, Any]) -> SourceTree | None:
    if case["tree"] is None:
        return None
    if "changes" in case or "taken" in case:
        changes = {name: (before, after) for name, (before, after) in case.get("changes", {}).items()}
        if "taken" in case:
            taken = case["taken"].replace("HOOK", HOOK).replace("args.", "model_runner.server_args.")
            changes["sglang/srt/model_executor/cuda_graph_runner.py"] = (HOOK, taken)
        return tree(*case["tree"], changes=changes)
    found = _tree(tuple(case["tree"]))
    listed = "\n".join(
        ["[sglang.srt.plugins]", *(f"{name} = {package}:load" for name, package in case.get("entry_points", {}).items())]
    )
    extra = (file("x.dist-info/entry_points.txt", listed.encode()),) if "entry_points" in case else ()
    return dataclasses.replace(found, files=(*found.files, *extra))


def found_in(change: Mapping[str, Any], boots: tuple[Boot, ...] = (), ask: AskReach | None = None) -> dict[str, Finding]:
    case = laid_over(copy.deepcopy(BASE), change)
    model, draft = (ModelOnHost(one.get("config"), one.get("size")) if one else None for one in (case["model"], case["draft"]))
    found = runtime_findings(release_of(case), tree_of(case), model, draft, boots, case.get("gpu_mib"), ask)
    assert len({one.id for one in found}) == len(found), "a finding comes twice"
    return {one.id: one for one in found}


def listed(which: str) -> list[Any]:
    return [
        pytest.param(name, case, id=f"{name}-{place}") for name, one in CASES.items() for place, case in enumerate(one[which])
    ]


@pytest.mark.parametrize(("name", "case"), listed("appears"))
def test_a_finding_appears(name: str, case: dict[str, Any]) -> None:
    says = case.get("says", [])
    found = found_in({key: value for key, value in case.items() if key != "says"})
    assert name in found
    assert found[name].severity == CASES[name]["severity"]
    text = f"{found[name].message}; fix: {found[name].fix}"
    assert [words for words in says if words not in text] == []


@pytest.mark.parametrize(("name", "case"), listed("away"))
def test_a_finding_stays_away(name: str, case: dict[str, Any]) -> None:
    assert name not in found_in(case)


def test_every_finding_has_cases() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("*_findings.py"))
    kinds = {"unknown_argument", "deprecated_argument", "unknown_environment"}
    assert kinds <= CASES.keys()
    ids = set(re.findall(r'(?:Finding|_error)\(\s*"([a-z_]+)"', text)) | set(
        re.findall(r'^ +\("(draft_[a-z_]+)"', text, re.MULTILINE)
    )
    assert ids - {"memory_unknown"} <= CASES.keys()
    assert len(ids) > 20
    assert all(one["appears"] and one["away"] for one in CASES.values())


@pytest.mark.parametrize("hardware", ["rtx-pro-6000-8x", "b300-8x"])
@pytest.mark.parametrize("names", [["ours"], ["ours", "plain"], ["ours", "simulator"], None])
def test_no_error_on_the_example_profiles_with_a_sound_spec(hardware: str, names: list[str] | None) -> None:
    found = found_in({"hardware": hardware, "tree": names, "spec": {"server_args": {"context-length": 131072}}})
    assert [one for one in found.values() if one.severity is Severity.ERROR] == []


def test_a_longer_context_that_the_environment_allows_is_a_warning() -> None:
    environment = {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    found = found_in({"spec": {"server_args": {"context-length": 300000}, "environment": environment}})
    assert found["context_length"].severity is Severity.WARNING


STORY = {"tree": ["patched"], "spec": {"ddtree": {"budget": 32, "budget_schedule": None}}}


def test_without_graphs_nothing_is_captured_too_narrow() -> None:
    found = found_in(laid_over(STORY, {"spec": {"server_args": {"disable-cuda-graph": True}}}))["token_width_mismatch"]
    assert found.severity is Severity.WARNING
    assert "CUDA graphs are off here" in found.message


def answered(*, reaches: bool) -> Reach:
    return Reach("num_tokens_per_bs", reaches, (), ())


@pytest.mark.parametrize(
    ("answer", "finding"),
    [
        (answered(reaches=False), "token_width_mismatch"),
        (None, "token_width_mismatch"),
        (answered(reaches=True), "token_widths_unknown"),
    ],
)
def test_a_flow_that_the_other_analysis_finds_is_no_error(answer: Reach | None, finding: str) -> None:
    asked: list[tuple[str, str]] = []

    def ask(name: str, to: str, _without: frozenset[str]) -> Reach | None:
        asked.append((name, to))
        return answer

    assert finding in found_in(STORY, ask=ask)
    assert asked == [("speculative_ddtree_budget", "CudaGraphRunner.num_tokens_per_bs")]
    found_in({"tree": ["ours", "plain"]}, ask=ask)
    assert len(asked) == 1


CHOSEN = {
    "tree": ["ours", "naive", "plain", "runner"],
    "entry_points": {"ddtree": "sglang_ddtree", "naive": "naive_ddtree"},
    "spec": {"ddtree": {"budget": 32, "budget_schedule": None}, "environment": {"SGLANG_PLUGINS": "naive"}},
}


def test_the_other_analysis_leaves_out_plugins_that_are_not_chosen() -> None:
    left_out: list[frozenset[str]] = []

    def ask(_name: str, _to: str, without: frozenset[str]) -> Reach:
        left_out.append(without)
        return answered(reaches=False)

    assert "sends 33" in found_in(CHOSEN, ask=ask)["token_width_mismatch"].message
    assert left_out == [frozenset({"sglang_ddtree"})]


def test_our_plugin_says_nothing_where_sglang_loads_no_plugins() -> None:
    left_out: list[frozenset[str]] = []
    found_in({**STORY, "tree": ["patched", "ours"]}, ask=lambda _name, _to, without: left_out.append(without))
    assert left_out == [frozenset({"sglang_ddtree"})]


def test_what_the_registered_class_answers_counts_more_than_a_flow_by_names() -> None:
    found = found_in(CHOSEN, ask=lambda *_: answered(reaches=True))
    assert "token_widths_unknown" not in found
    assert any("by names alone" in line for line in found["token_width_mismatch"].evidence)


def test_of_two_registrations_the_mismatch_comes_first() -> None:
    found = found_in({**CHOSEN, "spec": {"ddtree": {"budget": 32, "budget_schedule": None}}})
    errors = [one.id for one in found.values() if one.severity is Severity.ERROR]
    assert errors == ["token_width_mismatch", "algorithm_registered_twice"]


def test_patches_of_a_sglang_that_is_not_here_leave_the_widths_open() -> None:
    patch = Patch("p.diff", "0", b"")
    release = release_of(copy.deepcopy(BASE))
    release = dataclasses.replace(release, inputs=dataclasses.replace(release.inputs, patches=(patch,)))
    for names, expected in ((("ours",), True), (("ours", "plain"), False)):
        found = runtime_findings(release, _tree(names), None, None)
        assert ("token_widths_unknown" in {one.id for one in found}) is expected


def boot(**memory: float) -> Boot:
    return Boot("lab-1", "i", "2026-11-30T00:00:00Z", Outcome.READY, 9.0, (), memory)


def test_the_figures_of_an_earlier_boot_count_more_than_the_formula() -> None:
    found = found_in({}, (boot(free_before=93.0, weights=73.0, kv=1.4, graphs=0.2, draft_graphs=0.1),))["memory_estimate"]
    assert "19476 tokens of 77184 bytes (as release lab-1 measured here)" in found.message
    assert any("73.00" in line and "weights" in line for line in found.evidence)


@pytest.mark.parametrize("figures", [{"weights": 40.0, "free_before": 93.0}, {}, {"free_before": 1.0}])
def test_figures_of_another_model_or_size_do_not_count(figures: dict[str, float]) -> None:
    assert "estimated" in found_in({}, (boot(**figures),))["memory_estimate"].message


def test_evidence_names_the_lines_of_the_story() -> None:
    finding = found_in(STORY)["token_width_mismatch"]
    assert [line.split(":", 1)[0] for line in finding.evidence] == ["algorithm", "graph", "graph from", "verify"]
    assert "sglang/srt/model_executor/cuda_graph_runner.py:6 self.num_tokens_per_bs = " in finding.evidence[1]
    assert "speculative_ddtree_budget + 1" in finding.evidence[3]
