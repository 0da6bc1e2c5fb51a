"""An attempt to change a host, under the host's lock: recorded on the host and on the controller, whatever comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ddtree_ops.errors import DdtreeOpsError
from ddtree_ops.fleet import places
from ddtree_ops.flows.lock import HostLock, held
from ddtree_ops.ports import AuditLog, Operator, Shell
from ddtree_ops.report.deployment import DeploymentReport, Step, StepState
from ddtree_ops.report.redaction import redacted

MOST_CHANGES = 100
# What of a proof goes into the record: numbers and verdicts, never prompts or answers (the gate's details quote both).
_FIGURES: Mapping[str, tuple[str, ...]] = {
    "smoke": ("seconds",),
    "gate": ("verdict", "acceptance_length", "prompts_equal", "prompts_compared"),
}


class Unrecorded:
    """An audit log that keeps nothing: for whoever only reads a host."""

    operator = Operator("", "", 0, "")

    def append(self, record: Mapping[str, Any]) -> None:
        pass


@dataclass
class Attempt:
    """What will be written down of it; `result` is filled while it goes on. `recorded`: the host's audit log has its end."""

    lock: HostLock
    by: str
    result: dict[str, Any] = field(default_factory=dict)
    recorded: bool = False

    def told(self, report: DeploymentReport) -> DeploymentReport:
        """The report, which says so if the host has no record of it. Call it after the end."""
        if self.recorded:
            return report
        lacks = f"{places.AUDIT} of {report.host} has no end of this attempt (a lost connection, a full disk?)"
        return replace(report, hint=f"{report.hint}; {lacks}" if report.hint else lacks)


@contextmanager
def attempt(shell: Shell, audit: AuditLog, event: str, *, force: bool = False) -> Iterator[Attempt]:
    """Holds the lock meanwhile. An error that leaves it is the result. Raises Locked, Unreachable, HostCommandFailed."""
    who = audit.operator
    about = {"event": event, "host": shell.host, **asdict(who)}
    record: dict[str, Any] = {**about, "outcome": "interrupted"}
    try:
        with held(shell, who, force=force) as lock:
            audit.append({**about, "event": f"{event} begun"})
            made = Attempt(lock, f"{who.user}@{who.controller}" if who.user else "")
            try:
                yield made
                record = {**about, **made.result}
            except DdtreeOpsError as error:
                record = {**about, **made.result, **failure(error)}
                raise
            except BaseException:
                record |= made.result
                raise
            finally:
                made.recorded = lock.end(record)
    except DdtreeOpsError as error:
        record = {**record, **failure(error)}
        raise
    finally:
        audit.append(record)


def note(audit: AuditLog, event: str, host: str, result: Mapping[str, Any]) -> None:
    """Record on the controller what never needed the host's lock."""
    audit.append({"event": event, "host": host, **asdict(audit.operator), **result})


def failure(error: DdtreeOpsError) -> dict[str, Any]:
    """An error as the record's result."""
    return {"outcome": "failed", "exit_code": error.exit_code, "error": redacted(error.message)}


def result_of(report: DeploymentReport, changes: tuple[tuple[str, str | None, str | None], ...] = ()) -> dict[str, Any]:
    """A deployment report as the record's result; `changes` are the plan's: what, before, after."""
    return {
        "outcome": str(report.outcome),
        "exit_code": report.exit_code,
        "release": report.release,
        "previous": report.previous,
        "serving": report.serving if report.serving_known else "unknown",
        "seconds": round(report.seconds, 2),
        "steps": {step.name: round(step.seconds, 2) for step in report.steps},
        "checks": {step.name: _checked(step) for step in report.steps if step.name in _FIGURES},
        "error": redacted(report.error) if report.error else None,
        "waivers": [one.to_json() for one in report.waivers],
        "plan": [[redacted(text) if text else text for text in change] for change in changes[:MOST_CHANGES]],
    }


def _checked(step: Step) -> dict[str, Any]:
    figures = {name: step.figures[name] for name in _FIGURES[step.name] if name in step.figures}
    return {"ok": step.state is StepState.OK, **figures}
