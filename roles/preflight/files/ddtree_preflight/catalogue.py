"""Every finding this program can have: what is asked, why, and what to do. `docs/findings.md` is made of it.

`severities`: the first is the usual one. Sources: see the page's foot; `C1`... are contradictions between sources, which is
why such a finding only warns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import kinds_gpu, kinds_host, kinds_stack
from .finding import MOST_EVIDENCE, Finding, one_line


@dataclass(frozen=True)
class Kind:
    """One id with its meaning; `probe`: only `--probe` asks."""

    id: str
    severities: tuple[str, ...]
    asks: str
    why: str
    fix: str
    source: str = ""
    probe: bool = False


KINDS = tuple(Kind(*row) for row in (*kinds_gpu.ROWS, *kinds_host.ROWS, *kinds_stack.ROWS))
BY_ID = {kind.id: kind for kind in KINDS}


def finding(check: str, found: str, expected: str, *, severity: str = "", fix: str = "", evidence: Iterable[str] = ()) -> Finding:
    """A finding of a known kind; severity and fix are the kind's unless given."""
    kind = BY_ID[check]
    chosen = severity or kind.severities[0]
    if chosen not in kind.severities:
        raise ValueError(f"{check} is never a {chosen}")
    shown = tuple(one_line(text, 400) for text in evidence)[:MOST_EVIDENCE]
    return Finding(check, chosen, one_line(found, 400), one_line(expected), fix or kind.fix, shown)
