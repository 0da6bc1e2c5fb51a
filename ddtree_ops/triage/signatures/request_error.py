"""One request failed; the server goes on."""

from __future__ import annotations

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature


def match(context: Context) -> Finding | None:
    """uvicorn's and asyncio's own headers for exceptions that end a request or a task, not the process."""
    header, ending = context.block.header, context.ending
    if "Exception in ASGI application" in header:
        kind, what = Kind.REQUEST_ERROR, "a request"
    elif "Task exception was never retrieved" in header or "Exception in callback" in header:
        kind, what = Kind.BACKGROUND_TASK_ERROR, "a background task"
    else:
        return None
    return Finding(
        kind=kind,
        title=f"{ending.type} in {what}",
        cause=None,
        fixes=(),
        confidence=Confidence.UNKNOWN,
    )


SIGNATURE = Signature(match)
