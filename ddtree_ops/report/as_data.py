"""Failures and events as plain data, in the schema's words. Their texts are clean already (`cleaning`).

`evidence` begins with what the process wrote right before, where triage kept that: an unknown failure's best excerpt.
"""

from __future__ import annotations

from typing import Any

from ddtree_ops.report.root_line import log_lines
from ddtree_ops.report.safe_text import rfc3339
from ddtree_ops.triage.block import Evidence, Frame, ParsedException, Thread
from ddtree_ops.triage.model import Event, Failure


def failure_data(failure: Failure) -> dict[str, Any]:
    """One entry of `failures`."""
    return {
        "fingerprint": failure.fingerprint,
        "kind": failure.kind.value,
        "title": failure.title,
        "role": failure.role.value,
        "phase": failure.phase.value,
        "first_seen": rfc3339(failure.first_us),
        "last_seen": rfc3339(failure.last_us),
        "count": failure.count,
        "processes": [{"pid": item.pid, "rank": item.rank, "name": item.name} for item in failure.processes],
        "exceptions": [_exception(item) for item in failure.exceptions],
        "numbers": [{"value": item.value, "expression": item.expression, "source": item.source} for item in failure.numbers],
        "evidence": [_evidence(item) for item in log_lines(failure)],
        "cause": failure.cause,
        "fixes": list(failure.fixes),
        "confidence": failure.confidence.value,
        "devices": [{"gpu": item.gpu, "pci": item.pci, "suspect": item.suspect} for item in failure.devices],
        "threads": [_thread(item) for item in failure.threads],
    }


def event_data(event: Event) -> dict[str, Any]:
    """One entry of `events`."""
    return {"time": rfc3339(event.time_us), "kind": event.kind, "text": event.text}


def _evidence(item: Evidence) -> dict[str, Any]:
    return {"cursor": item.cursor, "line": item.line, "time": rfc3339(item.time_us), "text": item.text}


def _exception(item: ParsedException) -> dict[str, Any]:
    return {
        "type": item.type,
        "message": item.message,
        "relation": item.relation.value if item.relation else None,
        "complete": item.complete,
        "frames": [_frame(frame) for frame in item.frames],
        "parent": item.parent,
        "language": item.language.value,
        "notes": list(item.notes),
    }


def _thread(item: Thread) -> dict[str, Any]:
    return {"id": item.id, "name": item.name, "current": item.current, "frames": [_frame(frame) for frame in item.frames]}


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "file": frame.file,
        "line": frame.line,
        "function": frame.function,
        "code": frame.code,
        "in_app": frame.in_app,
        "source": None if frame.source is None else list(frame.source),
    }
