"""The same with real journal files and the real journalctl, and a crash that is written while the collector follows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from ddtree_ops.exporter import passes
from ddtree_ops.exporter.collectors.journal import JournalCollector
from ddtree_ops.exporter.journal.one_pass import Pass
from ddtree_ops.exporter.metric import Sample
from ddtree_ops.exporter.target import Target
from ddtree_ops.ports import Command, Completed, HttpRequest, HttpResponse, Stream
from tests.exporter.journal_story import UNIT, Story, long_story
from tests.exporter.real_journal import WRITER, FilesShell, write, writer
from tests.triage.written_forms import as_export

pytestmark = [pytest.mark.processes, pytest.mark.skipif(WRITER is None, reason="needs systemd-journal-remote")]


class _Noted:
    def __init__(self, stream: Stream, shell: OneUnit) -> None:
        self._stream, self._shell = stream, shell
        self.send, self.close = stream.send, stream.close

    def chunks(self) -> Iterator[bytes]:
        for piece in self._stream.chunks():
            self._shell.followed = True
            yield piece


class NoHttp:
    def request(self, request: HttpRequest) -> HttpResponse:
        raise AssertionError(f"nothing is asked for: {request}")


class OneUnit(FilesShell):
    """`followed`: what follows the journal has read something."""

    followed = False

    @contextmanager
    def stream(self, argv: tuple[str, ...]) -> Iterator[Stream]:
        with super().stream(argv) as stream:
            yield _Noted(stream, self) if "--follow" in argv else stream

    def run(self, command: Command) -> Completed:
        said = f"{UNIT} loaded active running x\n" if command.argv[0] == "systemctl" else ""
        return Completed(command, 0, said, "", 0.0)


def totals(directory: Path) -> dict[tuple[str, str], int]:
    data = json.loads((directory / "journal-30000.json").read_text())
    return {(kind, role): number for kind, role, number in data["totals"]}


def test_cursors_of_a_real_journal_survive_passes_and_vacuuming(tmp_path: Path) -> None:
    story, journal, state = long_story(), tmp_path / "journal", tmp_path / "state"
    journal.mkdir()
    state.mkdir()
    begun = [place for place, (one, other) in enumerate(pairwise(story.entries), 1) if one.invocation_id != other.invocation_id]
    places = [0, *(place for place in begun if story.entries[place].invocation_id), len(story.entries)]
    for number, (start, end) in enumerate(pairwise(places)):
        write(journal / f"{number}.journal", story.entries[start:end])
        Pass(FilesShell(journal), UNIT, state, settle=0.0).run()
        (journal / f"{number - 2}.journal").unlink(missing_ok=True)
    found = totals(state)
    assert found[("graph_token_count_mismatch", "root")] == 2
    assert found[("request_error", "request")] == 3


def test_a_crash_shows_by_its_sign_and_not_by_the_next_regular_pass(tmp_path: Path) -> None:
    """That one would come after five minutes; after weaker signs, one comes after a minute."""
    story, journal, state = Story(), tmp_path / "journal", tmp_path / "state"
    journal.mkdir()
    state.mkdir()
    story.begin("tp2_ddtree_shape")
    process = writer(journal / "live.journal")
    assert process.stdin is not None
    process.stdin.writelines(map(as_export, story.entries[:95]))
    process.stdin.flush()
    wait((journal / "live.journal").exists)
    shell = OneUnit(journal)
    collector = JournalCollector(Target(shell, NoHttp()), state, passes.here(shell, state))
    try:
        wait(lambda: any(one.value == 0 for one in collector.read()))
        while not shell.followed:
            process.stdin.write(as_export(story.entries[94]._replace(message="a line of no matter")))
            process.stdin.flush()
            time.sleep(0.1)
        process.stdin.writelines(map(as_export, story.entries[95:]))
        process.stdin.flush()
        wait(lambda: roots(collector.read()) == 1)
    finally:
        collector.close()
        process.stdin.close()
        process.wait()


def roots(samples: Sequence[Sample]) -> float:
    return sum(one.value for one in samples if one.metric.name == "ddtree_ops_failures_total" and one.labels[2] == "root")


def wait(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 50
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)
