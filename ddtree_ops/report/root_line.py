"""Which line of the log is the one to look at: where the exception that ended the process says its type and message."""

from __future__ import annotations

from ddtree_ops.report.failure_parts import ending
from ddtree_ops.triage.block import Evidence
from ddtree_ops.triage.model import Failure

_COMPARED = 60  # characters: a line of evidence may be cut


def log_lines(failure: Failure) -> tuple[Evidence, ...]:
    """What its process wrote right before and the failure's own lines, in the log's order where that is known."""
    distinct = tuple(dict.fromkeys((*failure.context, *failure.evidence)))
    if any(item.line is None for item in distinct):
        return distinct
    return tuple(sorted(distinct, key=lambda item: item.line or 0))


def root_line(failure: Failure) -> Evidence | None:
    """The line that says what ended the process, else the last one of the evidence; None without evidence."""
    last = ending(failure)
    if last is None:
        return failure.evidence[-1] if failure.evidence else None
    first = " ".join(last.message.split("\n", 1)[0].split())
    name = last.type.rpartition(".")[2]
    fitting = [item for item in failure.evidence if name in item.text]
    exact = [item for item in fitting if first[:_COMPARED] in item.text]
    return next(reversed(exact or fitting or failure.evidence), None)


def root_cursor(failures: tuple[Failure, ...]) -> str | None:
    """The journal cursor of the first failure's root line; None where the log has no cursors, or nothing failed.

    `failures` are a report's, the root first. `logs` marks the entry that has this cursor.
    """
    line = root_line(failures[0]) if failures else None
    return line.cursor if line else None
