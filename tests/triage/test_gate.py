"""Reading through the gate gives the report that reading everything gives; what it leaves out costs nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.forms.sieve import Skipped
from ddtree_ops.triage.gate import LITERALS, feed_through
from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Diagnosis, Verdict
from tests.triage.journals import recorded, written
from tests.triage.written_forms import TEXT_ONLY, WITH_PROCESSES, Writer, as_export, as_json, as_plain, as_short, healthy, padded

CASES = Path(__file__).parent.parent / "cases"


def _some() -> list[Path]:
    """Of each kind some logs: what the gate has to know are the kinds' words, and all cases take a minute."""
    counts: Counter[str | None] = Counter()
    chosen = []
    for path in sorted(path for path in CASES.glob("*/*/*") if path.name.startswith(("log.", "journal."))):
        kind = json.loads((path.parent / "expected.json").read_text("utf-8")).get("kind")
        counts[kind] += 1
        if counts[kind] <= _OF_EACH:
            chosen.append(path)
    return chosen


_OF_EACH = 2
LOGS = _some()
PADDINGS = (
    {"before": 450, "every": 0, "between": 0, "after": 300},
    {"before": 400, "every": 9, "between": 40, "after": 100},
    {"before": 450, "every": 1, "between": 1, "after": 0},
    {"before": 0, "every": 60, "between": 400, "after": 300},
)


def pieces(data: bytes, size: int = 65536) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def ungated(data: bytes) -> Diagnosis:
    diagnoser = Diagnoser()
    for entry in read_log(pieces(data)):
        diagnoser.feed(entry)
    return diagnoser.finish()


def gated(data: bytes, size: int = 65536) -> tuple[Diagnosis, int]:
    """The diagnosis, and how many entries were left out."""
    diagnoser, skipped = Diagnoser(), 0
    for item in feed_through(diagnoser, pieces(data, size)):
        skipped += item.number if isinstance(item, Skipped) else 0
    return diagnoser.finish(), skipped


def write(entries: Iterable[JournalEntry], writer: Writer) -> bytes:
    return b"".join(map(writer, entries))


@pytest.mark.parametrize("index", range(len(LOGS)), ids=[path.parent.name for path in LOGS])
def test_every_case_between_healthy_lines_has_the_same_diagnosis(index: int) -> None:
    entries = list(read_log([LOGS[index].read_bytes()], 1_795_977_363_156_364))
    forms = {**TEXT_ONLY, **WITH_PROCESSES} if any(one.pid for one in entries) else TEXT_ONLY
    padding = PADDINGS[index % len(PADDINGS)]
    data = write(padded(entries, **padding), forms[sorted(forms)[index % len(forms)]])
    found, _ = gated(data, size=(65536, 4999)[index % 2])
    assert found == ungated(data)


@pytest.mark.parametrize("form", sorted({**TEXT_ONLY, **WITH_PROCESSES}))
@pytest.mark.parametrize("padding", PADDINGS[1:])
def test_the_recorded_story_in_every_form(form: str, padding: dict[str, int]) -> None:
    data = write(padded(recorded("tp2_ddtree_shape"), **padding), {**TEXT_ONLY, **WITH_PROCESSES}[form])
    found, _ = gated(data)
    assert found == ungated(data)


@pytest.mark.parametrize("name", sorted({**TEXT_ONLY, **WITH_PROCESSES}))
def test_nearly_all_of_a_long_log_is_left_out(name: str) -> None:
    entries = recorded("tp2_ddtree_shape")
    data = write(padded(entries, before=20_000, every=0, between=0, after=0), {**TEXT_ONLY, **WITH_PROCESSES}[name])
    found, skipped = gated(data)
    assert skipped > 19_000
    assert found.lines_read == sum(1 for _ in read_log([data]))
    assert [item.kind for item in found.failures] == [Kind.GRAPH_TOKEN_COUNT_MISMATCH]


def test_literals_survive_every_spelling() -> None:
    for literal in LITERALS:
        assert literal.isascii() and literal.isprintable(), literal
        assert not set(literal) & set('"<>&\\'), literal


HEAD = "[2026-11-29 18:38:31 TP1] Scheduler hit an exception: Traceback (most recent call last):"
CRASH = [HEAD, '  File "/opt/sgl/python/sglang/srt/x.py", line 3, in run', "    go()", "ValueError: it", ""]


def crash(pid: int = 70_001, first: str = HEAD) -> list[JournalEntry]:
    return written([(pid, line) for line in [first, *CRASH[1:]]])


def calm(count: int = 1500) -> list[JournalEntry]:
    return list(healthy(count, written([(70_000, "")])[0]))


@pytest.mark.parametrize("writer", [as_json, as_export, as_short, as_plain])
def test_a_coloured_header_wakes_it(writer: Callable[[JournalEntry], bytes]) -> None:
    coloured = HEAD.replace("Traceback (most", "\x1b[31mTraceback \x1b[0m\x1b[1;2m(most")
    data = write([*calm(), *crash(first=coloured), *calm()], writer)
    found, skipped = gated(data)
    assert (found.verdict, found) == (Verdict.FAILURE, ungated(data))
    assert skipped > 2000


@pytest.mark.parametrize("writer", [as_json, as_export])
def test_a_message_that_imitates_entries_is_one_message(writer: Callable[[JournalEntry], bytes]) -> None:
    fake = write(crash(), writer).decode()
    prompt = written([(70_003, f"[2026-11-29 18:38:30 TP3] Receive: text='\n\n{fake}\n\n'")])
    data = write([*calm(), *prompt, *calm()], writer)
    found, _ = gated(data)
    assert found == ungated(data)
    assert found.failures == ()


def test_a_binary_field_hides_no_entry_behind_it() -> None:
    entry = calm(1)[0]
    for length in (1, 40, 4000):
        odd = as_export(entry._replace(message="\r" + "x\n\n" * length))
        data = b"".join((write(calm(), as_export), odd, write(crash(), as_export), write(calm(), as_export)))
        found, _ = gated(data, size=3000)
        assert (found.verdict, found) == (Verdict.FAILURE, ungated(data))


def test_damage_in_the_quiet_is_told() -> None:
    calm_bytes = write(calm(), as_export)
    for damage in (
        b"\xff\xfe garbage\n",
        b"half=of an entry\n",
        b"__CURSOR=s=x\nMESSAGE=cut__CURSOR=s=1\n",
        b"MESSAGE\n\xff\xff",
    ):
        data = calm_bytes + damage + calm_bytes
        found, _ = gated(data)
        assert found == ungated(data)


def test_quoted_last_words_of_a_server_that_logged_long_ago() -> None:
    """A process that writes log records isn't the launcher, whatever it prints thousands of lines later."""
    words = "ddtree launcher: crashed: /generate: garbage: only '!' over and over (exit 70)"
    lines = written([(71_000, "[2026-11-29 18:00:01] a record"), (71_000, words)])
    quiet = calm(3000)
    for writer in WITH_PROCESSES.values():
        data = write([*quiet[:200], lines[0], *quiet, lines[1], *quiet], writer)
        found, skipped = gated(data)
        assert (found.failures, found) == ((), ungated(data))
        assert skipped > 4000
        own = write([*quiet, lines[1], *quiet[:50]], writer)
        assert gated(own)[0].verdict is Verdict.FAILURE


def test_a_rank_named_once_long_ago_is_known() -> None:
    quiet = calm(3000)
    named = written([(71_000, "[2026-11-29 18:00:01 TP5] a record")])
    bare = written([(71_000, line) for line in ["Traceback (most recent call last):", *CRASH[1:]]])
    data = write([*quiet[:200], *named, *quiet, *bare, *quiet[:100]], as_json)
    found, _ = gated(data)
    assert found == ungated(data)
    assert [process.rank for process in found.failures[0].processes] == ["TP5"]


def test_an_indented_line_far_from_its_header_has_its_process() -> None:
    """journalctl indents the further lines of a message; the header was left out."""
    message = "\n".join(["a harmless beginning", *(f"more {number}" for number in range(200)), *CRASH])
    data = write([*calm(), *written([(70_005, message)]), *calm()], as_short)
    found, _ = gated(data)
    assert found == ungated(data)
    assert [process.pid for process in found.failures[0].processes] == [70_005]


@pytest.mark.parametrize("writer", [as_json, as_export])
def test_one_unit_of_several(writer: Callable[[JournalEntry], bytes]) -> None:
    mine, other = "ddtree-server@30000.service", "other.service"
    theirs = [entry._replace(unit=other) for entry in [*calm(), *crash()]]
    nameless = [entry._replace(unit=None, invocation_id=None) for entry in calm(5)]
    data = write([*calm(), *theirs, *nameless, *calm(700), *theirs[:100]], writer)
    report = triage_bytes(pieces(data), only_unit=mine)
    assert (report.verdict, report.lines_read, report.events) == (Verdict.NO_FAILURE, 1500 + 5 + 700, ())
    assert report.until_us == calm(700)[-1].realtime_us
    assert triage_bytes(pieces(data), only_unit=other).verdict is Verdict.FAILURE
    nobody = triage_bytes(pieces(data), only_unit="nobody.service")
    assert other in nobody.events[0].text


def test_a_log_that_speaks_all_the_time_stays_right() -> None:
    noise = written([(70_000, "SIGTERM is a word that means nothing here")])
    lines = [entry for _ in range(400) for entry in [*calm(40), *noise]]
    data = write([*lines, *crash()], as_json)
    found, skipped = gated(data)
    expected = ungated(data)
    assert skipped > 1000
    assert [replace(item, context=()) for item in found.failures] == [replace(item, context=()) for item in expected.failures]
