"""Every statement of the recorded journals' `expected.json` holds, from each form of the journal."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from ddtree_ops.report.entries import triage_entries
from ddtree_ops.report.failure import FailureReport, schema
from ddtree_ops.triage.forms.export_stream import read_export
from tests.triage.journals import CASES, NAMES, as_export, recorded

FAILING = tuple(name for name in NAMES if name != "dflash_ok")


def expected(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((CASES / name / "expected.json").read_text("utf-8"))
    return loaded


def report(name: str) -> FailureReport:
    return triage_entries(recorded(name), host="gpuhost")


def test_all_six_recordings_are_here() -> None:
    assert len(NAMES) == 6


@pytest.mark.parametrize("name", NAMES)
def test_report_is_valid_and_has_the_verdict(name: str) -> None:
    data = json.loads(report(name).to_json())
    jsonschema.Draft202012Validator(schema()).validate(data)
    assert data["verdict"] == expected(name)["verdict"]
    assert data["lines_read"] == len(recorded(name))
    assert data["unit"] == "ddtree-server.service"


@pytest.mark.parametrize("name", FAILING)
def test_root_is_as_expected(name: str) -> None:
    data, want = json.loads(report(name).to_json()), expected(name)
    (root,) = data["failures"]  # consequences and noise are events, not failures
    assert root["role"] == "root"
    assert {key: root[key] for key in ("kind", "phase", "count")} == {key: want[key] for key in ("kind", "phase", "count")}
    assert [item["rank"] for item in root["processes"] if item["rank"]] == want["ranks"]
    assert [_short(item) for item in root["exceptions"]] == want["exceptions"]
    assert all(item["complete"] for item in root["exceptions"])


def _short(exception: dict[str, Any]) -> dict[str, Any]:
    last = exception["frames"][-1]
    return {
        "type": exception["type"],
        "message": exception["message"],
        "relation": exception["relation"],
        "frames": len(exception["frames"]),
        "raising_frame": f"{last['file']}:{last['line']}:{last['function']}",
    }


def test_the_storys_numbers() -> None:
    root = report("tp2_ddtree_shape").root
    assert root is not None
    told = [(item.value, item.expression) for item in root.numbers]
    assert told[0] == (8, "speculative_num_draft_tokens = 8")
    assert (33, "in no argument of this run; one more than 32") in told
    assert not any("tp_size" in text for _, text in told)
    assert root.cause == (
        "The CUDA graph of the target's verify pass was captured for 8 tokens (speculative_num_draft_tokens, the draft's block"
        " size) and replayed with 33 (no argument of this run gives that; a tree budget of 32 plus its root would)."
    )


def test_a_printed_budget_is_named() -> None:
    start = "server_args=ServerArgs("
    entries = [
        entry._replace(message=entry.message.replace(start, f"{start}speculative_ddtree_budget=32, "))
        for entry in recorded("tp2_ddtree_shape")
    ]
    root = triage_entries(entries).root
    assert root is not None
    assert (33, "speculative_ddtree_budget + 1 = 33") in [(item.value, item.expression) for item in root.numbers]
    assert root.cause is not None
    assert "replayed with 33 (speculative_ddtree_budget + 1)" in root.cause


def test_unknown_stays_without_a_cause() -> None:
    root = report("tp2_rank1_raise").root
    assert root is not None
    assert (root.cause, root.fixes, root.confidence.value) == (None, (), "unknown")


@pytest.mark.parametrize("name", NAMES)
def test_events_tell_signals_and_exit(name: str) -> None:
    kinds = [event.kind for event in report(name).events]
    assert kinds[-1] == "main_process_exit"
    if name in ("tp2_ddtree_shape", "tp2_rank1_raise", "draft_mismatch", "mem_fraction_too_small"):
        assert kinds.index("sigquit") < kinds.index("kill_process_tree")
    if name == "tp2_ddtree_shape":
        assert "shutdown_warning" in kinds
    if name == "dflash_ok":
        assert "sigquit" not in kinds


@pytest.mark.parametrize("name", NAMES)
def test_export_form_gives_the_same_report(name: str) -> None:
    data = b"".join(as_export(CASES / name / "journal.jsonl"))
    for size in (len(data), 4096, 7):
        chunks = (data[start : start + size] for start in range(0, len(data), size))
        assert triage_entries(read_export(chunks), host="gpuhost") == report(name)


@pytest.mark.parametrize("cut", range(100, 140, 3))
def test_a_cut_log_never_invents_a_cause(cut: int) -> None:
    found = triage_entries(recorded("tp2_ddtree_shape")[:cut], host=None)
    jsonschema.validate(json.loads(found.to_json()), schema())
    for failure in found.failures:
        assert failure.kind.value == ("graph_token_count_mismatch" if cut >= 138 else "unknown")
        assert all(item.complete for item in failure.exceptions) == (cut >= 138)


def test_fingerprint_ignores_ranks_lines_numbers_and_installation() -> None:
    entries = recorded("tp2_ddtree_shape")
    changed = [
        entry._replace(
            message=entry.message.replace("(8)", "(16)")
            .replace(", line 39,", ", line 40,")
            .replace("/opt/ddtree/current/venv/lib/python3.12/site-packages/sglang", "/srv/src/python/sglang")
            .replace(" TP", " DP0 TP")
        )
        for entry in entries
    ]
    before, after = triage_entries(entries).root, triage_entries(changed).root
    assert before is not None and after is not None
    assert before.fingerprint == after.fingerprint
    other = report("mem_fraction_too_small").root
    assert other is not None and other.fingerprint != before.fingerprint
