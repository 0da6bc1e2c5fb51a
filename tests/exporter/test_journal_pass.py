"""Passes over a journal: however it is cut into passes, and wherever they are killed, each failure is counted once."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ddtree_ops.exporter.journal.one_pass import SETTLE_SECONDS, Pass
from ddtree_ops.triage.forms import gathered
from tests.exporter.journal_story import UNIT, KilledError, StoryShell, long_story

STORY = long_story()
COUNTED = {"totals", "lines", "newest_us", "newest"}


def run(shell: StoryShell, directory: Path, **given: Any) -> None:
    directory.mkdir(exist_ok=True)
    Pass(shell, UNIT, directory, settle=SETTLE_SECONDS, sleep=shell.sleep, **given).run()


def told(directory: Path) -> dict[str, Any]:
    data = json.loads((directory / "journal-30000.json").read_text())
    counted = {name: data[name] for name in COUNTED}
    return {**counted, "totals": sorted(data["totals"]), "newest": sorted(data["newest"], key=str)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("whole")
    run(StoryShell(STORY.entries), directory)
    return told(directory)


def test_one_pass_counts_what_happened(whole: dict[str, Any]) -> None:
    totals = {(kind, role): number for kind, role, number in whole["totals"]}
    assert totals[("graph_token_count_mismatch", "root")] == 2
    assert totals[("unknown", "root")] == 1
    assert totals[("request_error", "request")] == 3
    assert whole["lines"] == len(STORY.entries)
    assert whole["newest_us"] == STORY.entries[-1].realtime_us


@pytest.mark.parametrize("seed", range(3))
def test_any_split_into_passes_counts_the_same(seed: int, whole: dict[str, Any], tmp_path: Path) -> None:
    rolled = random.Random(seed)  # noqa: S311
    shell = StoryShell(STORY.entries, visible=0)
    while shell.visible is not None and shell.visible < len(STORY.entries):
        shell.visible = min(len(STORY.entries), shell.visible + rolled.choice((1, 3, 17, 60, 200)))
        run(shell, tmp_path)
    run(shell, tmp_path)
    assert told(tmp_path) == whole


@pytest.mark.parametrize("seed", range(2))
def test_killed_passes_count_nothing_twice(
    seed: int, whole: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathered, "PIECE_BYTES", 1)  # each entry is judged when it has come
    rolled = random.Random(seed)  # noqa: S311
    ticks = iter(range(0, 10**9, rolled.choice((1, 10))))  # seconds: the state is written every five of them
    for _ in range(4):
        left = rolled.randrange(1, 900)

        def kill() -> None:
            nonlocal left
            left -= 1
            if not left:
                raise KilledError

        shell = StoryShell(STORY.entries, on_read=kill)
        with pytest.raises(KilledError):
            run(shell, tmp_path, monotonic=lambda: float(next(ticks)))
            raise KilledError
    run(StoryShell(STORY.entries), tmp_path)
    assert told(tmp_path) == whole
