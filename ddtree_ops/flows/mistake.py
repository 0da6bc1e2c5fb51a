"""An exception that nobody expected, a mistake of ours, as an error that a report can carry."""

from __future__ import annotations

import traceback

from ddtree_ops.errors import DdtreeOpsError

MOST_LINES = 30


class Mistake(DdtreeOpsError):
    """A mistake in ddtree-ops itself; the evidence is the end of the traceback."""


def mistake(host: str, error: BaseException) -> Mistake:
    """Exit code 1, whatever became of the host."""
    lines = tuple("".join(traceback.format_exception(error)).splitlines()[-MOST_LINES:])
    text = f"{host}: a mistake in ddtree-ops: {type(error).__name__}: {error}"
    return Mistake(text, hint="report it with the traceback below", evidence=lines)
