"""What belongs together in a log, recognised while its lines arrive; one recogniser a file.

To add one: a file with a class that has `feed`, `settle`, `flush` and `busy` (`recogniser.py`), and a line here. Every
recogniser sees every line of a run, so `feed` must pass over a line that isn't its own at the cost of a substring test.
"""

from __future__ import annotations

from collections.abc import Callable

from ddtree_ops.triage.blocks.recogniser import Recogniser
from ddtree_ops.triage.blocks.tracebacks import Tracebacks

__all__ = ["LITERALS", "RECOGNISERS", "Recogniser"]

#: In the order in which they see a line.
RECOGNISERS: tuple[Callable[[], Recogniser], ...] = (Tracebacks,)

#: What the lines that begin a block have in them.
LITERALS: tuple[str, ...] = Tracebacks.literals
