"""One traceback of one process while the log's lines arrive."""

from __future__ import annotations

from ddtree_ops.triage.block import Block, Evidence
from ddtree_ops.triage.blocks.chain import Chain, State, Verdict
from ddtree_ops.triage.blocks.headers import Header
from ddtree_ops.triage.blocks.learned import Learned
from ddtree_ops.triage.blocks.quoted import with_quoted
from ddtree_ops.triage.blocks.rich_box import RichBox
from ddtree_ops.triage.blocks.wrapped import Wrapped
from ddtree_ops.triage.lines import Line, Prefix, evidence, read_prefix

_EVIDENCE_LIMIT = 8
_BAR = "%|"


class Building:
    """Collects what belongs to a traceback; `take` says of a line whether it is part of it, or whether it is over.

    `announced`: the line above it that says whose it is. Without a header (it fell out of the log) only frames came.
    """

    def __init__(self, line: Line, prefix: Prefix, header: Header | None, announced: Evidence | None = None) -> None:
        before = header.before if header else ""
        self.rank = prefix.rank
        self.pid = prefix.pid if prefix.pid is not None else line.entry.pid
        self.comm = line.entry.comm
        self.header = "" if _BAR in before else before.strip(" :")
        self.record = prefix.dated
        self.first_us = self.last_us = line.entry.realtime_us
        self.chain = Chain(drawn=header is not None and header.drawn, headless=header is None)
        self.learned = Learned(prefix, before)
        self._before = before
        self._unmargined = False
        self._headless = header is None
        self._box = RichBox(header.width) if header and header.width else None
        self._wrapped = Wrapped()
        self._evidence = [*([announced] if announced else []), evidence(line)]
        self._cut = line.entry.truncated

    @property
    def open_to_strangers(self) -> bool:
        """Whether its lines have no prefix of their own, so that any line without one may belong to it."""
        return not self.learned.each

    def take(self, line: Line, prefix: Prefix) -> Verdict:
        """Take a line that may belong to it."""
        text = self.learned.inside(prefix, line.text, in_frames=self.chain.state is not State.MESSAGE)
        if text is None:
            return self.chain.stranger()
        if self.learned.margin and not self._unmargined:
            self._read_record()
        held = self._wrapped.release()
        if held is not None:
            self._take_text(held)
        if self._box is None and self._wrapped.holds(line, text, self.chain):
            return Verdict.TAKEN
        verdict = self._take_text(text)
        if verdict is Verdict.TAKEN:
            self._wrapped.note(line, text)
            self.last_us = line.entry.realtime_us
            self._cut = self._cut or line.entry.truncated
            if self.chain.exception_read and len(self._evidence) < _EVIDENCE_LIMIT:
                self._evidence.append(evidence(line))
        return verdict

    def _read_record(self) -> None:
        """An unknown launcher's prefix hid the record's own."""
        self._unmargined = True
        prefix = read_prefix(self._before[self.learned.margin :])
        self.rank, self.record = prefix.rank or self.rank, prefix.dated
        self.pid = prefix.pid if prefix.pid is not None else self.pid
        self.header = prefix.rest.strip(" :")

    def continues(self, line: Line, prefix: Prefix) -> bool:
        """Whether the line is the rest of the one right before it, which a terminal cut; it is taken then."""
        joined = self._box is None and self._wrapped.join(line, prefix, self.chain, each=bool(self.learned.each))
        if joined:
            self.last_us = line.entry.realtime_us
        return joined

    def interrupted(self) -> Verdict:
        """Somebody else's record began where only the order of lines tells who speaks."""
        return self.chain.stranger() if self.chain.state is State.MESSAGE else Verdict.STRANGE

    def finish(self) -> Block | None:
        """The result; None if not even one frame or exception was read, or frames only without a header."""
        held = self._wrapped.release()
        if held is not None:
            self._take_text(held)
        drafts = [item for item in self.chain.drafts if item.type or item.frames]
        if not drafts or (self._headless and not any(item.type for item in drafts)):
            return None
        drafts[-1].complete = drafts[-1].complete and not self._cut
        drafts = with_quoted(drafts)
        return Block(
            pid=self.pid,
            rank=self.rank,
            comm=self.comm,
            header=self.header,
            record=self.record,
            exceptions=tuple(item.result(drafts) for item in drafts),
            evidence=tuple(self._evidence),
            first_us=self.first_us,
            last_us=self.last_us,
        )

    def _take_text(self, text: str) -> Verdict:
        if self._box is None:
            return self.chain.take(text)
        verdict = Verdict.TAKEN
        for plain, goes_on in self._box.plain(text):
            if goes_on and self.chain.state is State.MESSAGE:
                self.chain.join(plain)
            else:
                verdict = self.chain.take(plain)
        return verdict
