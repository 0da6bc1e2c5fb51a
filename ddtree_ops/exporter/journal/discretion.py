"""What of a failure may stand on a page that others than the host's own people see: nothing that a user may have written.

An exception's message is our or the library's wording where its kind is known. Failures of single requests, and those that nobody
knows, may quote what was asked or answered: of them only types, frames and times are kept.
"""

from __future__ import annotations

from dataclasses import replace

from ddtree_ops.triage.block import ParsedException
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import NOTES as NOTES_ON_INPUT
from ddtree_ops.triage.model import Event, Failure, Role

HIDDEN = "(text of the log isn't kept here; `ddtree-ops triage` shows it)"
#: Kinds that any message can have.
_ANY_TEXT = frozenset(
    {
        Kind.UNKNOWN,
        Kind.REQUEST_ERROR,
        Kind.BACKGROUND_TASK_ERROR,
        Kind.GARBAGE_OUTPUT,
        Kind.HANG_HIDDEN_ERROR,
        Kind.ENGINE_DEAD_SECONDARY,
        Kind.SHUTDOWN_NOISE,
    }
)


def discreet(failure: Failure) -> Failure:
    """The failure without the lines before it, and without its own texts where they may be a user's."""
    if failure.kind not in _ANY_TEXT and failure.role is not Role.REQUEST:
        return replace(failure, context=())
    last = failure.exceptions[-1].type if failure.exceptions else ""
    return replace(
        failure,
        title=f"{failure.kind.value}: {last}" if last else failure.kind.value,
        exceptions=tuple(_hidden(one) for one in failure.exceptions),
        numbers=(),
        evidence=tuple(replace(one, text=HIDDEN) for one in failure.evidence),
        cause=None if failure.kind is Kind.UNKNOWN else failure.cause and HIDDEN,
        context=(),
    )


def discreet_events(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Without those that quote lines which couldn't be read."""
    return tuple(replace(one, text=HIDDEN) if one.kind in NOTES_ON_INPUT else one for one in events)


def _hidden(exception: ParsedException) -> ParsedException:
    return replace(exception, message=HIDDEN if exception.message else "", notes=())
