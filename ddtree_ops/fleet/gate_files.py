"""The gate's files on the controller: prompt sets (YAML) and baselines, which `ddtree-ops smoke --record-gate` writes (JSON)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ddtree_ops import assets
from ddtree_ops.errors import InvalidInventory
from ddtree_ops.fleet.regular_file import read_regular_text
from ddtree_ops.fleet.source import read_plain
from ddtree_ops.fleet.spec import ServingSpec
from ddtree_ops.units.gate_answers import GatePrompt, RecordedAnswer, Recording

DEFAULT_PROMPTS = Path(__file__).with_name("gate_prompts.yml")
SCHEMA: Final = "ddtree-ops/gate-baseline/v1"
RECORD = "record it again: ddtree-ops smoke --record-gate FILE --host HOST"
_MOST_BYTES = 16 * 2**20


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class _Prompt(_Strict):
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$")
    text: str = Field(min_length=1, max_length=100_000)


_PROMPTS = TypeAdapter(Annotated[list[_Prompt], Field(min_length=1, max_length=512)])


class BaselineAnswer(_Strict):
    """One answer; `steady` counts its first tokens that came twice (characters without ids)."""

    prompt: str
    text: str
    token_ids: list[int] | None
    steady: int = Field(ge=0)


class Baseline(_Strict):
    """What a server answered to a prompt set, greedily. `recorded` is a time in ISO 8601; the rest says of what it was."""

    format: Literal["ddtree-ops/gate-baseline/v1"] = Field(default=SCHEMA, alias="schema")
    recorded: str
    host: str
    release: str | None
    model: str
    version: str | None
    algorithm: str | None
    prompts_sha256: str
    max_tokens: int = Field(ge=1)
    acceptance_length: float | None = Field(ge=0, allow_inf_nan=False)
    answers: list[BaselineAnswer]

    def recording(self) -> Recording:
        """What the gate compares with."""
        answers = (
            RecordedAnswer(one.prompt, one.text, None if one.token_ids is None else tuple(one.token_ids), one.steady)
            for one in self.answers
        )
        return Recording(self.algorithm, self.acceptance_length, tuple(answers))

    def to_json(self) -> str:
        """The file's text, an answer a line so that two recordings can be compared by eye."""
        head = json.dumps(self.model_dump(by_alias=True, exclude={"answers"}), indent=1).removesuffix("\n}")
        answers = ",\n".join("  " + json.dumps(answer.model_dump()) for answer in self.answers)
        return f'{head},\n "answers": [\n{answers}\n ]\n}}\n'


def digest(prompts: Sequence[GatePrompt]) -> str:
    """Names a prompt set by its content."""
    content = json.dumps([[prompt.name, prompt.text] for prompt in prompts])
    return hashlib.sha256(content.encode()).hexdigest()


def read_prompts(spec: ServingSpec) -> tuple[GatePrompt, ...]:
    """The spec's prompt set, or the one that comes with the tool. Raises InvalidInventory."""
    path = DEFAULT_PROMPTS if spec.gate.prompts is None else Path(assets.expand(spec.gate.prompts))
    try:
        found = _PROMPTS.validate_python(_plain(path))
    except ValidationError as error:
        raise InvalidInventory(f"gate.prompts: {path}: {_first(error)}", hint="a list of {name: ..., text: ...}") from error
    names = [prompt.name for prompt in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInventory(f"gate.prompts: {path}: the name {twice!r} is there twice")
    return tuple(GatePrompt(prompt.name, prompt.text) for prompt in found)


def read_baseline(spec: ServingSpec, prompts: Sequence[GatePrompt]) -> Baseline | None:
    """The spec's baseline, if it names one. Raises InvalidInventory for one that is missing, damaged or of other prompts."""
    if spec.gate.baseline is None:
        return None
    path = Path(assets.expand(spec.gate.baseline))
    try:
        found = Baseline.model_validate_json(_text(path, "gate.baseline"))
    except ValidationError as error:
        raise InvalidInventory(f"gate.baseline: {path}: {_first(error)}", hint=RECORD) from error
    if found.prompts_sha256 != digest(prompts):
        raise InvalidInventory(f"gate.baseline: {path} was recorded with another prompt set", hint=RECORD)
    if found.max_tokens != spec.gate.max_tokens:
        asked = f"answers of at most {found.max_tokens} tokens, gate.max_tokens is {spec.gate.max_tokens}"
        raise InvalidInventory(f"gate.baseline: {path} was recorded with {asked}", hint=RECORD)
    if problem := _incomplete(found, prompts):
        raise InvalidInventory(f"gate.baseline: {path}: {problem}", hint=RECORD)
    return found


def check_files(spec: ServingSpec) -> None:
    """Read what the gate will need, so that a mistake shows before anything changes. Raises InvalidInventory."""
    if spec.gate.enabled and spec.ddtree is not None:
        read_baseline(spec, read_prompts(spec))


def _incomplete(baseline: Baseline, prompts: Sequence[GatePrompt]) -> str | None:
    """Why a baseline isn't the answers to a prompt set: fewer than all of them would be compared in silence."""
    counts = Counter(answer.prompt for answer in baseline.answers)
    for prompt in prompts:
        if counts[prompt.name] != 1:
            return (
                f"has {counts[prompt.name]} answers to the prompt {prompt.name!r}; expected one to each of {len(prompts)} prompts"
            )
    if strange := counts.keys() - {prompt.name for prompt in prompts}:
        return f"has an answer to {min(strange)[:64]!r}, which is no prompt of the set"
    for answer in baseline.answers:
        unit, length = ("characters", len(answer.text)) if answer.token_ids is None else ("tokens", len(answer.token_ids))
        if answer.steady > length:
            return f"{answer.prompt}: steady is {answer.steady}, but the answer has {length} {unit}"
    return None


def _plain(path: Path) -> object:
    try:
        return read_plain(path)
    except InvalidInventory as error:
        raise InvalidInventory(f"gate.prompts: {error.message}", hint=error.hint, evidence=error.evidence) from error


def _text(path: Path, key: str) -> str:
    return read_regular_text(path, _MOST_BYTES, key=key, hint=RECORD if key == "gate.baseline" else None)


def _first(error: ValidationError) -> str:
    one = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, one["loc"]))
    return f"{place}: {one['msg']}" if place else str(one["msg"])
