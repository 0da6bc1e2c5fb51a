"""The section `gate` of a serving spec: when a new DDTREE release is good enough to be kept."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from ddtree_ops.fleet.sections import ControllerPath, Duration, Section, wrong


class Inconclusive(StrEnum):
    """What becomes of a release that the gate can't judge."""

    FAIL = "fail"
    WARN = "warn"


def _inconclusive(value: object) -> object:
    if isinstance(value, str) and value in tuple(Inconclusive):
        return Inconclusive(value)
    raise wrong("expected fail or warn")


class GateSpec(Section):
    enabled: bool = Field(default=True, description="false: no gate; without `ddtree` there is none either")
    prompts: ControllerPath | None = Field(
        default=None, description="YAML file on the controller, a list of {name, text}; left out: the set of the tool"
    )
    max_tokens: int = Field(default=64, ge=8, le=4096, description="most tokens of an answer")
    min_acceptance_length: float = Field(
        default=1.2, ge=1, le=64, description="least tokens per verify step, the bonus token included; 1 is no gain at all"
    )
    baseline: ControllerPath | None = Field(
        default=None, description="file on the controller, written by `ddtree-ops smoke --record-gate`; left out: no comparison"
    )
    baseline_factor: float = Field(
        default=0.95, ge=0, le=10, description="acceptance must be at least the recorded length times this; 0: not compared"
    )
    prefix_tokens: int = Field(default=32, ge=1, le=4096, description="first tokens of an answer that must be the recorded ones")
    min_equal: float = Field(
        default=0.9, ge=0, le=1, description="share of the prompts for which they must be; the rest may be numerical ties"
    )
    inconclusive: Annotated[Inconclusive, BeforeValidator(_inconclusive)] = Field(
        default=Inconclusive.FAIL,
        description="`fail`: what can't be judged is not kept, as if it were refused; `warn`: it is kept and the report says so",
    )
    time_limit: Duration = Field(default=120, description="longest time for all prompts together")
