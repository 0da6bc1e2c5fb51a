"""A host's journal for tests: a long story of several runs, and a shell that shows as much of it as is written yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ddtree_ops.ports import Command, Completed, Stream
from ddtree_ops.triage.entry import JournalEntry
from tests.triage.journals import CASES, START_US, recorded
from tests.triage.written_forms import as_export, healthy

UNIT = "ddtree-server@30000.service"
REQUEST_ERROR = (CASES.parent / "signatures" / "request_template" / "log.txt").read_text("utf-8").splitlines()


class Story:
    """Entries in order; `at` is the story's clock in microseconds."""

    def __init__(self) -> None:
        self.entries: list[JournalEntry] = []
        self.at = START_US
        self._run = 0

    def begin(self, name: str, until: str | None = None) -> None:
        """A run as it was recorded, up to the line that holds `until`."""
        self._run += 1
        self.at += 20_000_000
        told = recorded(name)
        stop = next((place for place, one in enumerate(told) if until and until in one.message), len(told))
        began = told[0].realtime_us or 0
        start = self.at
        for entry in told[:stop]:
            self.at = max(self.at + 1, start + (entry.realtime_us or began) - began)
            self.add(entry)

    def add(self, entry: JournalEntry, after_us: int = 0) -> None:
        """One more entry of the run."""
        self.at += after_us
        number = len(self.entries) + 1
        entry = entry._replace(boot_id="b" * 32, hostname=None, cursor=f"s=story;i={number:x}", realtime_us=self.at)
        if entry.unit or entry.invocation_id:
            entry = entry._replace(unit=UNIT, invocation_id=f"{self._run:032x}")
        self.entries.append(entry._replace(monotonic_us=self.at - START_US + 1_000_000))

    def serve(self, count: int) -> None:
        """So many lines of a server that works, five a second."""
        for entry in healthy(count, self.entries[-1]._replace(pid=5997, unit=UNIT)):
            self.add(entry, 200_000)

    def fail_request(self) -> None:
        """The application raises; the server goes on."""
        like = self.entries[-1]._replace(pid=5997, comm="python3", transport="stdout", unit=UNIT)
        for text in REQUEST_ERROR:
            self.add(like._replace(message=text), 150)

    def kernel(self, text: str) -> None:
        """A line of the kernel's."""
        self.add(
            self.entries[-1]._replace(pid=None, comm=None, unit=None, invocation_id=None, transport="kernel", message=text), 10
        )

    def end(self, name: str, since: str) -> None:
        """How the recorded run went on from the line that holds `since`."""
        told = recorded(name)
        start = next(place for place, one in enumerate(told) if since in one.message)
        for before, entry in pairwise(told[start - 1 :]):
            self.add(entry, max(1, (entry.realtime_us or 0) - (before.realtime_us or 0)))


def long_story() -> Story:
    """A run that serves, fails two requests and is stopped; the same crash twice; another crash; a run that serves."""
    story = Story()
    story.begin("dflash_ok", "SIGTERM received")
    story.serve(60)
    story.fail_request()
    story.serve(200)
    story.fail_request()
    story.serve(20)
    story.kernel("NVRM: Xid (PCI:0000:41:00): 13, pid=1, name=python3, Graphics Exception")
    story.serve(30)
    story.end("dflash_ok", "SIGTERM received")
    for name in ("tp2_ddtree_shape", "tp2_ddtree_shape", "tp2_rank1_raise"):
        story.begin(name)
    story.begin("dflash_ok", "SIGTERM received")
    story.serve(200)
    story.fail_request()
    story.serve(40)
    return story


class KilledError(Exception):
    """Stands for SIGKILL: the pass ends right there."""


@dataclass
class StoryShell:
    """Answers as journalctl of a journal that has the entries from `oldest` to `visible`. `on_read`: at each piece."""

    entries: list[JournalEntry]
    visible: int | None = None
    oldest: int = 0
    host: str = "ct200"
    on_read: Callable[[], None] = lambda: None
    asked: list[tuple[str, ...]] = field(default_factory=list)
    crashes: Path | None = None

    def run(self, command: Command) -> Completed:
        self.asked.append(command.argv)
        found = sorted(self.crashes.iterdir()) if self.crashes and command.argv[0] == "find" else []
        return Completed(command, 0, "".join(f"{path.name}\t{path.stat().st_size}\n" for path in found), "", 0.0)

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        self.asked.append(argv)
        if argv[0] == "cat":
            assert self.crashes is not None
            yield _Pieces([(self.crashes / Path(argv[-1]).name).read_bytes()], self.on_read)
            return
        yield _Pieces([as_export(entry) for entry in self._from(argv)], self.on_read)

    def sleep(self, seconds: float) -> None:
        """The story goes on for so long."""
        if self.visible is not None and self.visible:
            until = (self.entries[self.visible - 1].realtime_us or 0) + seconds * 1e6
            while self.visible < len(self.entries) and (self.entries[self.visible].realtime_us or 0) <= until:
                self.visible += 1

    def _from(self, argv: tuple[str, ...]) -> list[JournalEntry]:
        there = self.entries[self.oldest : self.visible]
        options = dict(word.split("=", 1) for word in argv if word.startswith("--") and "=" in word)
        if "--cursor" in options:
            place = next((i for i, one in enumerate(there) if one.cursor == options["--cursor"]), 0)
            return there[place:]
        if "--since" in options:
            since = float(options["--since"].removeprefix("@")) * 1e6
            return [one for one in there if (one.realtime_us or 0) >= since - 1]
        return there


class _Pieces:
    def __init__(self, pieces: list[bytes], on_read: Callable[[], None]) -> None:
        self._pieces, self._on_read = pieces, on_read

    def chunks(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._on_read()
            yield piece

    def send(self, data: bytes) -> None:
        raise AssertionError("nothing is sent to journalctl")

    def close(self) -> None:
        """Nothing is open."""
