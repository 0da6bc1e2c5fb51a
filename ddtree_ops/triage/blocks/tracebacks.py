"""Recognises Python tracebacks in interleaved output of several processes, while it arrives.

A traceback is complete with its exception line, but a message may have more lines and a chain may follow, maybe with lines
of others in between. So it is given out when another traceback of the same process begins, when the log's clock is
`SETTLE_US` past its last line, when the log went on for long without it, by `settle()` or by `flush()`.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from ddtree_ops.triage.block import Block, Evidence
from ddtree_ops.triage.blocks.bare import LITERALS as BARE_LITERALS
from ddtree_ops.triage.blocks.bare import BareExceptions
from ddtree_ops.triage.blocks.building import Building
from ddtree_ops.triage.blocks.chain import State, Verdict
from ddtree_ops.triage.blocks.frames import parse_frame
from ddtree_ops.triage.blocks.headers import ANNOUNCING, MARK, Header, read_announcement, read_header
from ddtree_ops.triage.blocks.recogniser import SETTLE_US
from ddtree_ops.triage.lines import Line, Prefix, evidence, is_older, read_prefix

#: How much older than the log's clock a finished traceback is for `settle`: its process would have gone on by then.
_QUIET_US = 5_000

_SCAN_US = 10_000  # of the log's clock, between two looks at what is overdue
_ACTIVE_LIMIT = 256
_ANNOUNCED_LINES = 4  # asyncio writes what failed between the announcement and the header
_FRAME_MARK = ", line "
_REMOTE = "RemoteTraceback:"

_Speaker = tuple[int | None, str | None, str | None]


class _Announcement(NamedTuple):
    words: str
    number: int
    record: bool
    evidence: Evidence


class Tracebacks:
    """Feed it every line; it answers with the tracebacks that became complete."""

    literals: ClassVar[tuple[str, ...]] = (MARK, _FRAME_MARK, _REMOTE, *ANNOUNCING, *BARE_LITERALS)

    def __init__(self) -> None:
        # By the entry's process, then by whom the line's prefix names.
        self._active: dict[int | None, dict[_Speaker, Building]] = {}
        self._announced: dict[int | None, _Announcement] = {}
        self._bare = BareExceptions()
        self._count = self._open_count = 0
        self._now_us: int | None = None
        self._looked_us = 0
        self._torn = ""
        self._latest: tuple[int, Building] | None = None  # the number of the latest line that was taken, and by whom

    @property
    def busy(self) -> bool:
        """Whether a traceback is being read."""
        return bool(self._active)

    def feed(self, line: Line, prefix: Prefix) -> list[Block]:
        """Take one line (`prefix`: what `read_prefix` made of it)."""
        self._count += 1
        if self._torn and prefix.pid is None:
            prefix = read_prefix(self._torn + line.text)
        self._torn = prefix.torn
        self._now_us = line.entry.realtime_us or self._now_us
        done = self._overdue() if self._active else []
        if line.progress:
            return done
        header = read_header(prefix.rest)
        if self._active and header is None and self._continued(line, prefix):
            return done
        if self._active and self._taken(line, prefix, header, done):
            return done
        if header:
            self._open(line, prefix, header, done)
        elif _FRAME_MARK in line.text and (frame := parse_frame(prefix.rest)) and frame.function:
            self._open(line, prefix, None, done).take(line, prefix)
        elif prefix.rest.rstrip().endswith(_REMOTE):
            self._open(line, prefix, None, done).chain.begin_with(prefix.rest.rstrip())
        else:
            self._note_announcement(line, prefix)
            done += [] if self._is_ignored(line) else self._bare.feed(line, prefix)
        return done

    def settle(self) -> list[Block]:
        """Give out what has its exception line and its process has said no more since: it is done writing."""
        return self._close_older(_QUIET_US)

    def flush(self) -> list[Block]:
        """Give out everything, at the end of the stream; a part without exception line is marked incomplete."""
        every = [(pid, speaker) for pid, speakers in self._active.items() for speaker in speakers]
        return [item for pid, speaker in every for item in self._close(pid, speaker)]

    def _taken(self, line: Line, prefix: Prefix, header: Header | None, done: list[Block]) -> bool:
        """Whether an active traceback took the line. What is over through it is added to `done`."""
        pid = line.entry.pid
        speakers = self._active.get(pid)
        if not speakers:
            return False
        key = _key_of(speakers, line, prefix)
        verdict = speakers[key].take(line, prefix) if key else Verdict.STRANGE
        if verdict is Verdict.TAKEN and key:
            self._latest = (line.number, speakers[key])
            return True
        if key and (verdict is Verdict.OVER or header):
            done += self._close(pid, key)
        if prefix.stamp and pid is None:
            self._interrupt(key, done)
        return False

    def _continued(self, line: Line, prefix: Prefix) -> bool:
        """Whether the line is the rest of the latest one, which was cut where a terminal ended."""
        if self._latest is None or line.number - self._latest[0] != 1 or not self._latest[1].continues(line, prefix):
            return False
        self._latest = (line.number, self._latest[1])
        return True

    def _interrupt(self, but: _Speaker | None, done: list[Block]) -> None:
        """In a text file only the order of lines tells who speaks: a line with a prefix ends what others without one said."""
        for key, building in list(self._active.get(None, {}).items()):
            if key != but and building.open_to_strangers and building.interrupted() is Verdict.OVER:
                done += self._close(None, key)

    def _open(self, line: Line, prefix: Prefix, header: Header | None, done: list[Block]) -> Building:
        pid = line.entry.pid
        if self._open_count >= _ACTIVE_LIMIT:
            first = next(iter(self._active))
            done += self._close(first, next(iter(self._active[first])))
        said = self._announced.pop(pid, None)
        said = said if said and self._count - said.number <= _ANNOUNCED_LINES else None
        building = Building(line, prefix, header, said.evidence if said else None)
        if said and not building.header:
            building.header, building.record = said.words, building.record or said.record
        if prefix.speaker in self._active.get(pid, {}):
            done += self._close(pid, prefix.speaker)
        self._active.setdefault(pid, {})[prefix.speaker] = building
        self._open_count += 1
        return building

    def _note_announcement(self, line: Line, prefix: Prefix) -> None:
        words = read_announcement(prefix.rest)
        if words:
            if len(self._announced) >= _ACTIVE_LIMIT:
                self._announced.clear()
            self._announced[line.entry.pid] = _Announcement(words.rstrip(":"), self._count, prefix.dated, evidence(line))

    def _is_ignored(self, line: Line) -> bool:
        """Whether the interpreter said right above that it ignores what follows (a broken pipe at exit has no traceback)."""
        said = self._announced.get(line.entry.pid)
        return said is not None and said.words.startswith("Exception ignored") and self._count - said.number == 1

    def _close(self, pid: int | None, speaker: _Speaker) -> list[Block]:
        speakers = self._active[pid]
        building = speakers.pop(speaker)
        if self._latest and self._latest[1] is building:
            self._latest = None
        result = building.finish()
        self._open_count -= 1
        if not speakers:
            del self._active[pid]
        return [result] if result else []

    def _overdue(self) -> list[Block]:
        if self._now_us is None or abs(self._now_us - self._looked_us) < _SCAN_US:
            return []
        self._looked_us = self._now_us
        return self._close_older(SETTLE_US)

    def _close_older(self, age_us: int) -> list[Block]:
        """Give out what has its exception line and is older than this by the log's clock."""
        now, found = self._now_us, []
        for pid, speakers in self._active.items():
            for speaker, building in speakers.items():
                if building.chain.state is State.MESSAGE and is_older(building.last_us, now, age_us):
                    found.append((pid, speaker))
        return [item for pid, speaker in found for item in self._close(pid, speaker)]


def _key_of(speakers: dict[_Speaker, Building], line: Line, prefix: Prefix) -> _Speaker | None:
    """Whose traceback the line may belong to: its speaker's, else the latest one whose lines have no prefix."""
    if prefix.stamp and prefix.speaker in speakers:
        return prefix.speaker
    if prefix.stamp and line.entry.pid is None:
        # a rank may stand in the record's prefix only, and the launcher's before every line
        shared = (key for key in reversed(speakers) if not prefix.dated and speakers[key].learned.shares(prefix.stamp))
        return next(shared, None)
    return next((key for key in reversed(speakers) if speakers[key].open_to_strangers), None)
