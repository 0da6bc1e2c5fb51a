"""One unit while systemd speaks of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from ddtree_ops.triage.block import Block, Evidence, Origin
from ddtree_ops.triage.blocks import systemd_words as words
from ddtree_ops.triage.lines import Line, evidence

_LINES_LIMIT = 12
_LINE_LENGTH = 2000
_SAID_LENGTH = 300
#: Begins a block's line with what the unit's own process said.
SAID = "said: "


@dataclass(slots=True)
class Unit:
    """What was said of it since it was last started.

    `own`: systemd itself is why it fails, or only systemd tells of it. `refused`: its program was not executed, and no denial
    explains that yet. `over`: its result came; the denial may still. `main_ended`: its program ran and ended.
    """

    name: str
    starting: Evidence | None = None
    lines: list[str] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    own: bool = False
    refused: bool = False
    over: bool = False
    main_ended: bool = False

    def keep(self, text: str, line: Line, *, own: bool = False) -> None:
        """Keep a line of it."""
        self.own = self.own or own
        if len(self.lines) < _LINES_LIMIT:
            self.lines.append(text[:_LINE_LENGTH])
            self.evidence.append(evidence(line))

    def hear(self, spoken: Line) -> None:
        """Keep as evidence what a process said right before its end."""
        of_unit = spoken.entry.unit == self.name
        if of_unit or spoken.entry.unit is None:
            self.evidence.append(evidence(spoken))
        if of_unit:
            self.lines.append(SAID + spoken.text.strip()[:_SAID_LENGTH])

    def explain(self, denial: Denial) -> None:
        """Add who forbade it."""
        self.lines.append(denial[0])
        self.evidence.append(denial[1])
        self.own, self.refused = True, False

    def said(self, pattern: words.Pattern) -> bool:
        """Whether a line of it matches."""
        return any(pattern.match(text) for text in self.lines)

    def forget(self) -> None:
        """It begins anew."""
        self.lines, self.evidence = [], []
        self.own = self.refused = self.over = self.main_ended = False

    def block(self, starting: Evidence | None) -> Block:
        """What was read; `starting`: when systemd began to start something, where it didn't say what."""
        begun = (self.starting or starting) if self.said(words.START_TIMEOUT) else None
        return systemd_block(self.name, self.lines, self.evidence, begun)


#: A line of SELinux's or AppArmor's.
Denial = tuple[str, Evidence]


def systemd_block(name: str, lines: list[str], told: list[Evidence], begun: Evidence | None = None) -> Block:
    """`begun`: when systemd began to wait for what then didn't come; it isn't when the failure was seen."""
    return Block(
        pid=1,
        rank=None,
        comm="systemd",
        header=name,
        record=False,
        exceptions=(),
        evidence=(begun, *told) if begun else tuple(told),
        first_us=told[0].time_us,
        last_us=told[-1].time_us,
        origin=Origin.SYSTEMD,
        lines=tuple(lines),
    )
