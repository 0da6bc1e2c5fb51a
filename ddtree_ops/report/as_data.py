"""Failures and events as plain data, in the schema's words."""

from __future__ import annotations

from typing import Any

from ddtree_ops.report.safe_text import block, one_line, rfc3339
from ddtree_ops.triage.block import Frame, ParsedException, Thread
from ddtree_ops.triage.model import Event, Failure


def failure_data(failure: Failure) -> dict[str, Any]:
    """One entry of `failures`."""
    return {
        "fingerprint": failure.fingerprint,
        "kind": failure.kind.value,
        "title": one_line(failure.title),
        "role": failure.role.value,
        "phase": failure.phase.value,
        "first_seen": rfc3339(failure.first_us),
        "last_seen": rfc3339(failure.last_us),
        "count": failure.count,
        "processes": [
            {"pid": item.pid, "rank": item.rank and one_line(item.rank), "name": item.name and one_line(item.name)}
            for item in failure.processes
        ],
        "exceptions": [_exception(item) for item in failure.exceptions],
        "numbers": [
            {"value": item.value, "expression": one_line(item.expression), "source": one_line(item.source)}
            for item in failure.numbers
        ],
        "evidence": [
            {
                "cursor": item.cursor and one_line(item.cursor),
                "line": item.line,
                "time": rfc3339(item.time_us),
                "text": one_line(item.text),
            }
            for item in failure.evidence
        ],
        "cause": failure.cause and one_line(failure.cause),
        "fixes": [one_line(item) for item in failure.fixes],
        "confidence": failure.confidence.value,
        "devices": [{"gpu": item.gpu, "pci": item.pci, "suspect": item.suspect} for item in failure.devices],
        "threads": [_thread(item) for item in failure.threads],
    }


def event_data(event: Event) -> dict[str, Any]:
    """One entry of `events`."""
    return {"time": rfc3339(event.time_us), "kind": event.kind, "text": one_line(event.text)}


def _exception(item: ParsedException) -> dict[str, Any]:
    return {
        "type": one_line(item.type),
        "message": block(item.message),
        "relation": item.relation.value if item.relation else None,
        "complete": item.complete,
        "frames": [_frame(frame) for frame in item.frames],
        "parent": item.parent,
        "language": item.language.value,
        "notes": [block(note) for note in item.notes],
    }


def _thread(item: Thread) -> dict[str, Any]:
    return {
        "id": item.id and one_line(item.id),
        "name": item.name and one_line(item.name),
        "current": item.current,
        "frames": [_frame(frame) for frame in item.frames],
    }


def _frame(frame: Frame) -> dict[str, Any]:
    return {
        "file": one_line(frame.file),
        "line": frame.line,
        "function": frame.function and one_line(frame.function),
        "code": block(frame.code) if frame.code is not None else None,
        "in_app": frame.in_app,
    }
