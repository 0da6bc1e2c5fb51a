"""One request, or one background task, failed: by itself that ends no server."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures import port_in_use
from ddtree_ops.triage.signatures.context import Context, Signature, passes_through
from ddtree_ops.triage.signatures.engine_dead_secondary import is_engine_death

# uvicorn's and asyncio's headers; asyncio prints the task on a line between header and traceback
_REQUEST = re.compile(r"Exception in ASGI application|Error in (?:generate )?request\b|Exception while serving")
_TASK = re.compile(
    r"Task exception was never retrieved|Future exception was never retrieved|Exception in callback |Unhandled exception in"
    r" event loop"
)
_SERVERS = ("/uvicorn/protocols/", "/starlette/middleware/", "/entrypoints/openai/serving_", "/granian/")
_TEMPLATE = re.compile(r"jinja2\.|TemplateError|UndefinedError")


def match(context: Context) -> Finding | None:
    """By the header, on its own line or before the traceback's, or by a web server's frames."""
    if any(is_engine_death(item) for item in context.block.exceptions) or port_in_use.match(context):
        return None  # without an engine, or a port, there is no server that could go on
    said = " ".join((*(line.text for line in context.before[-2:]), context.block.header))
    if _TASK.search(said):
        return _finding(context, Kind.BACKGROUND_TASK_ERROR, "a background task", "One task of the event loop ended with it")
    serves = any(passes_through(context.all_frames, file=file) for file in _SERVERS)
    if serves or _REQUEST.search(context.block.header) or (context.before and _REQUEST.search(context.before[-1].text)):
        return _finding(context, Kind.REQUEST_ERROR, "a request", "One request failed with it")
    return None


def _finding(context: Context, kind: Kind, where: str, what: str) -> Finding:
    item = next((one for one in reversed(context.block.exceptions) if not one.type.endswith("Group")), context.ending)
    first = " ".join(item.message.split("\n", 1)[0].split())[:200]
    fixes = ["Send the same request alone: if it fails again, it is the request."]
    if kind is Kind.BACKGROUND_TASK_ERROR:
        fixes = ["Watch whether answers still come (`smoke`); a task that serves everybody ends the server by itself."]
    elif _TEMPLATE.search(item.type):
        fixes.insert(
            0, "The model's chat template refuses these messages (roles, tools): correct them, or give another --chat-template."
        )
    return Finding(
        kind=kind,
        title=f"{context.ending.type} in {where}",
        cause=f"{what}: {f'{item.type}: {first}'.rstrip('.: ')}.",
        fixes=tuple(fixes),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match, literals=("Exception in ASGI application", "exception was never retrieved", "Exception in callback"))
