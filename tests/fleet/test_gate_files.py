"""Prompt sets and baselines on the controller: mistakes show before anything is changed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.gate_files import Baseline, BaselineAnswer, check_files, digest, read_baseline, read_prompts
from ddtree_ops.fleet.spec import ServingSpec


def spec(**gate: Any) -> ServingSpec:
    return ServingSpec.model_validate(
        {"model": {"path": "/srv/m"}, "draft_model": {"path": "/srv/d"}, "ddtree": {"budget": 31}, "gate": gate}
    )


def answers() -> list[dict[str, Any]]:
    return [{"prompt": one.name, "text": "x", "token_ids": [1, 2], "steady": 2} for one in read_prompts(spec())]


def recorded(**changes: Any) -> str:
    baseline = Baseline(
        recorded="2026-11-30T00:00:00+00:00",
        host="ct200",
        release=None,
        model="/srv/m",
        version="0.5.13.post1",
        algorithm="DFLASH",
        prompts_sha256=digest(read_prompts(spec())),
        max_tokens=64,
        acceptance_length=3.1,
        answers=[BaselineAnswer(**one) for one in answers()],
    )
    return json.dumps({**json.loads(baseline.to_json()), **changes})


def test_the_set_that_comes_with_the_tool() -> None:
    prompts = read_prompts(spec())
    assert len(prompts) == 16
    assert len({prompt.text for prompt in prompts}) == 16
    assert not [prompt.name for prompt in prompts if prompt.text != prompt.text.lstrip() or not prompt.text.isascii()]


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    path.write_text(recorded())
    chosen = spec(baseline=str(path))
    found = read_baseline(chosen, read_prompts(chosen))
    assert found is not None
    assert json.loads(found.to_json()) == json.loads(recorded())
    assert found.recording().answers[0].token_ids == (1, 2)
    check_files(chosen)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (recorded(prompts_sha256="0"), "another prompt set"),
        (recorded(max_tokens=32), "at most 32 tokens, gate.max_tokens is 64"),
        (recorded(schema="ddtree-ops/gate-baseline/v2"), "schema"),
        (recorded(surprise=1), "surprise"),
        (recorded(acceptance_length=-1), "acceptance_length"),
        (recorded(answers=answers()[:1]), "has 0 answers to the prompt '.*'; expected one to each of 16 prompts"),
        (recorded(answers=[]), "has 0 answers"),
        (recorded(answers=[*answers(), answers()[3]]), "has 2 answers"),
        (recorded(answers=[*answers(), {**answers()[3], "prompt": "other"}]), "'other', which is no prompt of the set"),
        (recorded(answers=[{**one, "steady": 3} for one in answers()]), "steady is 3, but the answer has 2 tokens"),
        (recorded(answers=[{**one, "token_ids": None} for one in answers()]), "steady is 2, but the answer has 1 characters"),
        ("[" * 100_000, "recursion"),
        (recorded()[:-20], "JSON"),
        ("", "JSON"),
        ("[]", "gate.baseline"),
    ],
)
def test_a_baseline_that_can_not_be_used(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(InvalidInventory, match=words) as error:
        check_files(spec(baseline=str(path)))
    assert "--record-gate" in str(error.value.hint)


def test_missing_files(tmp_path: Path) -> None:
    for section in ({"baseline": f"{tmp_path}/none"}, {"prompts": f"{tmp_path}/none"}):
        with pytest.raises(InvalidInventory, match="No such file"):
            check_files(spec(**section))
        check_files(spec(**section, enabled=False))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- {name: a, text: x}\n- {name: a, text: y}\n", "twice"),
        ("- {name: a}\n", "0.text"),
        ("- {name: a, text: ''}\n", "0.text"),
        ("- {name: a, text: x, more: 1}\n", "more"),
        ("a: [\n", "gate.prompts"),
        ("[]", "at least 1"),
        ("- {name: 2026-13-45, text: x}\n", "gate.prompts: .*quote it"),
        ("[" * 500, "gate.prompts"),
        (f"- {{name: {'9' * 5000}, text: x}}\n", "gate.prompts"),
        ("", "list"),
        ("- !!python/object/apply:os.system [id]\n", "gate.prompts"),
    ],
)
def test_prompt_sets_that_can_not_be_used(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "p.yml"
    path.write_text(text)
    with pytest.raises(InvalidInventory, match=words):
        read_prompts(spec(prompts=str(path)))


@pytest.mark.parametrize("key", ["prompts", "baseline"])
def test_only_regular_files_are_read(tmp_path: Path, key: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in ("/dev/zero", tmp_path / "fifo", tmp_path):
        with pytest.raises(InvalidInventory, match=f"gate.{key}: {path}:.*not a regular file"):
            check_files(spec(**{key: str(path)}))


def test_an_own_set(tmp_path: Path) -> None:
    path = tmp_path / "p.yml"
    path.write_text("- name: grüße\n  text: a\n")
    with pytest.raises(InvalidInventory, match=r"0\.name"):
        read_prompts(spec(prompts=str(path)))
    path.write_text("- name: greetings\n  text: Grüße aus\n")
    assert [prompt.text for prompt in read_prompts(spec(prompts=str(path)))] == ["Grüße aus"]
