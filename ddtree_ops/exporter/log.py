"""Lines for the journal of the exporter's unit: many threads write them."""

from __future__ import annotations

import sys

_LONGEST = 1000


def line(text: str) -> None:
    """One line on stderr, in one write with its end: those of two threads don't mix. What isn't printable becomes a space."""
    printable = "".join(char if char.isprintable() else " " for char in text[:_LONGEST])
    sys.stderr.write(f"{printable}\n")
    sys.stderr.flush()
