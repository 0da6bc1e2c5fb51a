"""Hostile logs: numbers without end, thousands of processes, words that only resemble a known failure's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.triage import groups
from ddtree_ops.triage.blocks.systemd_words import START_TIMEOUT
from ddtree_ops.triage.diagnose import Diagnoser
from ddtree_ops.triage.entry import JournalEntry, LineBreak
from ddtree_ops.triage.events import Sign, read_event
from ddtree_ops.triage.fingerprint import without_values
from ddtree_ops.triage.forms.read import read_log
from ddtree_ops.triage.lines import Line, LineAssembler, split_message
from ddtree_ops.triage.model import Finding
from ddtree_ops.triage.numbers import Facts, explain
from ddtree_ops.triage.prefixes import read_prefix
from ddtree_ops.triage.run import Run
from ddtree_ops.triage.server_args import MARK, parse_server_args
from ddtree_ops.triage.signatures import Context, match
from tests.hang import ends
from tests.triage.journals import written

ROOT = Path(__file__).parent.parent / "cases"
#: Every fourth log of each group: the places repeat, and all of them take half a minute.
LOGS = sorted(path for path in ROOT.glob("*/*/*") if path.name.startswith(("log.", "journal.")))[::4]
BIG = "9" * 5000  # int() takes 4300 digits (sys.set_int_max_str_digits)
UNIT = "ddtree-server@30000.service"
DIGITS = re.compile(r"\d+")
BEGIN = "[2026-11-29 18:36:00] server_args=ServerArgs(model_path='/m', tp_size=2)"


def written_by(pid: int, message: str, line_break: LineBreak | None = None) -> JournalEntry:
    return written([(pid, message)])[0]._replace(line_break=line_break)


def with_big_numbers(text: str, seen: set[str]) -> Iterator[str]:
    """The text with one of its numbers after the other too long; places that look alike only once."""
    for found in DIGITS.finditer(text):
        place = DIGITS.sub("#", text[max(0, found.start() - 40) : found.start()] + "0" + text[found.end() : found.end() + 12])
        if place not in seen:
            seen.add(place)
            yield text[: found.start()] + BIG + text[found.end() :]


@pytest.fixture(scope="module")
def entries_of_cases() -> list[JournalEntry]:
    return [entry for path in LOGS if path.stat().st_size < 100_000 for entry in read_log([path.read_bytes()])]


def test_numbers_without_end_in_every_place_of_known_lines(entries_of_cases: list[JournalEntry]) -> None:
    seen: set[str] = set()
    run = Run()
    for number, entry in enumerate(entries_of_cases):
        for text, progress in split_message(entry.message[:2000]):
            for changed in with_big_numbers(text, seen):
                run.feed(Line(changed, entry, number, progress))
                assert not read_prefix(changed).rank or read_prefix(changed).leading in (True, False)
    run.finish()
    assert len(seen) > 300


def test_numbers_without_end_in_what_signatures_see(entries_of_cases: list[JournalEntry]) -> None:
    seen: set[str] = set()
    run = Run()
    for number, entry in enumerate(entries_of_cases):
        for text, progress in split_message(entry.message):
            run.feed(Line(text, entry, number, progress))
            if len(run.observations) > 100:
                _match_with_big_numbers(run, seen)
                run = Run()
    _match_with_big_numbers(run, seen)
    assert len(seen) > 150


def _match_with_big_numbers(run: Run, seen: set[str]) -> None:
    run.finish()
    for item in run.observations:
        block = item.block
        for at, exception in enumerate(block.exceptions):
            for message in with_big_numbers(exception.message[:4000], seen):
                changed = (*block.exceptions[:at], replace(exception, message=message), *block.exceptions[at + 1 :])
                groups.recognise(replace(item, finding=None, block=replace(block, exceptions=changed)), run)
        for at, line in enumerate(block.lines):
            for text in with_big_numbers(line, seen):
                changed_lines = (*block.lines[:at], text, *block.lines[at + 1 :])
                groups.recognise(replace(item, finding=None, block=replace(block, lines=changed_lines)), run)


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-11-29 18:36:09] Subprocess x (pid={BIG}) crashed with exit code -9",
        f"[2026-11-29 18:36:09] Subprocess x (pid=7) crashed with exit code -{BIG}",
        f"[2026-11-29 18:36:09] Exit code: -{BIG}",
        f"[2026-11-29 18:36:09] Pyspy failed (py-spy dump --pid {BIG})",
        f"[rank{BIG}]: [2026-11-29 18:36:09] Load weight begin. avail mem=1 GB",
        f"[2026-11-29 18:36:09 TP0] Initialized DFLASH draft runner. block_size={BIG}",
        f"[2026-11-29 18:36:09] server_args=ServerArgs(a={BIG}, b=((",
    ],
)
def test_a_sign_with_a_number_without_end_is_none(line: str) -> None:
    triage_bytes([f"{BEGIN}\n{line}\n".encode()])


# Server arguments


@pytest.mark.parametrize(
    "source",
    [
        "a='\\x', tp_size=8, b=((",
        "a={[]: 1}, tp_size=8)",
        f"a={'-' * 5000}1, tp_size=8)",
        f"a={'[' * 150}{']' * 150}, tp_size=8)",
    ],
)
def test_arguments_that_are_no_literals_are_left_out(source: str) -> None:
    args = parse_server_args(f"[2026-11-29 18:36:09] {MARK}{source}")
    assert args is not None
    assert args.get("tp_size") in (8, None)
    assert "b" not in args


@pytest.mark.parametrize("source", ["a" * (1 << 16), "a='\\" * (1 << 14), "a=[1" * (1 << 14), "a=1" * (1 << 14)])
def test_cut_arguments_are_read_to_the_end(source: str) -> None:
    with ends():
        parse_server_args(f"{MARK}{source}((")


@pytest.mark.parametrize("budget", [-1, 0])
def test_a_width_of_nothing_divides_nothing(budget: int) -> None:
    facts = Facts({"speculative_ddtree_budget": budget}, block_size=0)
    assert all(item.value == 33 for item in explain(33, facts))


# Fingerprints

_AS_IT_WAS = re.compile(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b|(?<=\D)\d+(?=\D|$)")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12",
        "12abcz 12abcz",
        "0xabc 0x1f x0x1",
        "of rank3 at 7f00beef",
        "a1b2",
        "deadbeef",
        "1.5 GiB, v2.11.0+cu130",
        "-1_000",
    ],
)
def test_values_are_what_they_were(text: str) -> None:
    assert without_values(text) == _AS_IT_WAS.sub("#", text)


@pytest.mark.parametrize("text", ["1" * 200_000 + "z", "a1" * 100_000 + "z", "0x" * 100_000, "f" * 200_000 + "_"])
def test_values_are_found_in_any_text(text: str) -> None:
    with ends():
        assert len(without_values(text)) <= 2000


# What is kept


def test_processes_without_end_are_forgotten() -> None:
    diagnoser = Diagnoser()
    for pid in range(2, 702):
        diagnoser.feed(written_by(pid, f"[2026-11-29 18:36:00 TP{pid}] {pid}" + "y" * 20_000))
    run = diagnoser._runs.current
    assert len(run.last_lines) == len(run.ranks) == len(run.names) == len(run._loggers) == 512
    assert 701 in run.ranks
    assert sum(len(line.text) + len(line.entry.message) for line in run.last_lines.values()) <= 512 * 4000


@pytest.mark.parametrize(("size", "why"), [(48_000, LineBreak.LINE_MAX), (1, LineBreak.PID_CHANGE)])
def test_parts_of_lines_without_end_are_given_out(size: int, why: LineBreak) -> None:
    assembler = LineAssembler()
    lines: list[Line] = []
    for pid in range(2, 2002):
        lines += assembler.feed(written_by(pid, "y" * size, line_break=why))
    held = len(assembler.held)
    assert held <= 256
    assert held * size <= 1 << 22
    assert lines[0].entry.pid == 2
    assert len(lines) + len(list(assembler.flush())) == 2000


def as_export(entry: JournalEntry) -> bytes:
    fields = {"__CURSOR": entry.cursor, "__REALTIME_TIMESTAMP": entry.realtime_us, "_PID": entry.pid, "_COMM": "python"}
    fields |= {"_TRANSPORT": "stdout", "_SYSTEMD_UNIT": UNIT, "_SYSTEMD_INVOCATION_ID": entry.invocation_id}
    return "".join(f"{name}={value}\n" for name, value in fields.items()).encode() + f"MESSAGE={entry.message}\n\n".encode()


@pytest.mark.parametrize("runs", [1, 200])
def test_processes_without_end_do_not_hold_the_gate_up(runs: int) -> None:
    entries = written((1000 + at, f"[2026-11-29 18:36:00] hello {at}") for at in range(4000))
    entries = [entry._replace(invocation_id=f"{at * runs // 4000:032x}") for at, entry in enumerate(entries)]
    with ends():
        triage_bytes([b"".join(map(as_export, entries))])


def test_a_member_is_recognised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def counted(context: Context) -> Finding | None:
        nonlocal calls
        calls += 1
        return match(context)

    trace = 'Traceback (most recent call last):\n  File "/opt/x/y.py", line 1, in f\n    f()\n'
    lines = [
        (100 + rank, line)
        for rank in range(8)
        for line in f"{trace}RuntimeError: CUDA error: out of memory on GPU {rank} has".split("\n")
    ]
    diagnoser = Diagnoser()
    for entry in written(lines):
        diagnoser.feed(entry)
    monkeypatch.setattr(groups, "match", counted)
    (root, *_) = diagnoser.finish().failures
    assert [device.gpu for device in root.devices] == list(range(8))
    assert calls == 8


# Words


@pytest.mark.parametrize("words", ["start", "start-pre", "start-post", "State 'start'", "State 'start-pre'"])
def test_every_start_that_timed_out_is_one(words: str) -> None:
    text = f"{UNIT}: {words}{'' if words.startswith('State') else ' operation'} timed out. Terminating."
    told = read_event(Line(text, written_by(1, text), 1), text, dated=False)
    assert told is not None
    assert told.sign is Sign.START_TIMEOUT
    assert START_TIMEOUT.match(text)
