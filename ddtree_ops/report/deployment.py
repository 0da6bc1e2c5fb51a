"""The report of a deploy or rollback of one host: its steps, what serves now, and the failure with its cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ddtree_ops.report.redaction import redacted

if TYPE_CHECKING:  # all of triage would come with it, 100 ms
    from ddtree_ops.report.failure import FailureReport

SCHEMA = "ddtree-ops/deployment-report/v1"


class StepState(StrEnum):
    """How a step ended."""

    OK = "ok"
    FAILED = "failed"


@dataclass(frozen=True)
class Step:
    """One step of the flow; `detail` is a short remark for people, `figures` are for scripts (the gate has some)."""

    name: str
    state: StepState
    seconds: float
    detail: str = ""
    figures: Mapping[str, object] = field(default_factory=dict)


class Outcome(StrEnum):
    """How the whole thing ended."""

    DEPLOYED = "deployed"
    NOTHING_TO_DO = "nothing_to_do"
    WOULD_CHANGE = "would_change"
    REFUSED = "refused"
    ROLLED_BACK = "rolled_back"  # the new release failed and the former one serves again
    FAILED = "failed"
    NOT_BEGUN = "not_begun"  # of several hosts: the rollout stopped before this one's turn
    INTERRUPTED = "interrupted"  # by a person, in the middle of a step


@dataclass(frozen=True)
class Serving:
    """The release that serves now; `known` is False where the host couldn't be asked."""

    release: str | None
    known: bool = True


@dataclass(frozen=True)
class WaiverUsed:
    """A finding that the spec waives, so that it didn't refuse the deploy; `until` is a day, `2026-12-31`."""

    finding: str
    reason: str
    until: str

    def to_json(self) -> dict[str, str]:
        """For reports and the audit log."""
        return {"finding": self.finding, "reason": redacted(self.reason), "until": self.until}


@dataclass(frozen=True)
class DeploymentReport:
    """`exit_code` is the one for this host; `serving` is the release that serves now, if any, and if that is known.

    `reason`: why a host of several was not begun.
    """

    host: str
    outcome: Outcome
    exit_code: int
    release: str | None
    previous: str | None
    serving: str | None
    seconds: float
    steps: tuple[Step, ...]
    error: str | None = None
    hint: str | None = None
    evidence: tuple[str, ...] = ()
    failure: FailureReport | None = None
    serving_known: bool = True
    reason: str | None = None
    waivers: tuple[WaiverUsed, ...] = ()

    @classmethod
    def broken_off(cls, host: str, outcome: Outcome, exit_code: int, steps: Sequence[Step], serving: Serving) -> DeploymentReport:
        """Of an attempt that its own flow could not report; its time is that of its steps."""
        seconds = sum(step.seconds for step in steps)
        shown = (serving.release, seconds, tuple(steps))
        return cls(host, outcome, exit_code, None, None, *shown, serving_known=serving.known)

    def to_json(self) -> dict[str, Any]:
        """A document that scripts can rely on; the failure has the form of failure-report.schema.json."""
        document = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in ("steps", "failure", "evidence", "error", "waivers")
        }
        return {
            "schema": SCHEMA,
            **document,
            "error": self.error and redacted(self.error),
            "evidence": [redacted(line) for line in self.evidence],
            "waivers": [one.to_json() for one in self.waivers],
            "steps": [dataclasses.asdict(step) for step in self.steps],
            "failure": self.failure.to_data() if self.failure else None,
        }
