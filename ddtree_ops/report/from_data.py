"""A stored report read back: the schema's object, checked, as the model's records."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from ddtree_ops.errors import UsageError
from ddtree_ops.report.stored import StoredException, StoredFailure, StoredFrame, StoredReport
from ddtree_ops.triage.block import Device, Evidence, Frame, ParsedException, Thread
from ddtree_ops.triage.model import Event, Failure, Number, Process, Verdict

_HINT = "give a report as `ddtree-ops triage --format json` writes it"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class InvalidReport(UsageError):
    """A stored report that isn't as the schema has it. `message` starts with `name: field: `."""


def read_report(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The fields of a FailureReport. Raises InvalidReport with `name` (the file's) and the first field that is wrong."""
    try:
        stored = StoredReport.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
        raise InvalidReport(f"{name}: {field or 'document'}: {first['msg']}", hint=_HINT) from None
    if stored.verdict is Verdict.FAILURE and not stored.failures:
        raise InvalidReport(f"{name}: failures: a report with the verdict `failure` has at least one")
    return {
        "host": stored.host,
        "unit": stored.unit,
        "invocation": stored.invocation,
        "since_us": _microseconds(stored.since),
        "until_us": _microseconds(stored.until),
        "lines_read": stored.lines_read,
        "verdict": stored.verdict,
        "failures": tuple(_failure(item) for item in stored.failures),
        "events": tuple(Event(_microseconds(item.time), item.kind, item.text) for item in stored.events),
    }


def _failure(item: StoredFailure) -> Failure:
    return Failure(
        fingerprint=item.fingerprint,
        kind=item.kind,
        title=item.title,
        role=item.role,
        phase=item.phase,
        first_us=_microseconds(item.first_seen),
        last_us=_microseconds(item.last_seen),
        count=item.count,
        processes=tuple(Process(one.pid, one.rank, one.name) for one in item.processes),
        exceptions=tuple(_exception(one) for one in item.exceptions),
        numbers=tuple(Number(one.value, one.expression, one.source) for one in item.numbers),
        evidence=tuple(Evidence(one.cursor, one.line, _microseconds(one.time), one.text) for one in item.evidence),
        cause=item.cause,
        fixes=tuple(item.fixes),
        confidence=item.confidence,
        devices=tuple(Device(one.gpu, one.pci, one.suspect) for one in item.devices),
        threads=tuple(Thread(one.id, one.name, one.current, _frames(one.frames)) for one in item.threads),
    )


def _exception(item: StoredException) -> ParsedException:
    return ParsedException(
        type=item.type,
        message=item.message,
        relation=item.relation,
        frames=_frames(item.frames),
        complete=item.complete,
        parent=item.parent,
        language=item.language,
        notes=tuple(item.notes),
    )


def _frames(items: list[StoredFrame]) -> tuple[Frame, ...]:
    return tuple(
        Frame(item.file, item.line, item.function, item.code, item.in_app, source=tuple(item.source) if item.source else None)
        for item in items
    )


def _microseconds(time: datetime | None) -> int | None:
    if time is None:
        return None
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (aware - _EPOCH) // timedelta(microseconds=1)
