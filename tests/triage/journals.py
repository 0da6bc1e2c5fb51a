"""Journals for tests: the recorded ones, and short ones written as (pid, text)."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from ddtree_ops.triage.entry import JournalEntry, LineBreak
from ddtree_ops.triage.forms.json_lines import JsonLines
from ddtree_ops.triage.forms.line_reader import read_lines

CASES = Path(__file__).parent.parent / "cases" / "recorded"
NAMES = tuple(sorted(path.name for path in CASES.iterdir()))
START_US = 1_795_977_000_000_000


def read_json(chunks: Iterable[bytes]) -> list[JournalEntry]:
    """The entries of a JSON journal."""
    return [item for item in read_lines(chunks, JsonLines(), None) if isinstance(item, JournalEntry)]


def recorded(name: str) -> list[JournalEntry]:
    """The entries of a recorded journal."""
    return read_json([(CASES / name / "journal.jsonl").read_bytes()])


def written(
    lines: Iterable[tuple[int, str]], *, step_us: int = 100, unit: str = "ddtree-server@30000.service"
) -> list[JournalEntry]:
    """Entries that these processes wrote, `step_us` apart; process 1 is systemd."""
    return [
        JournalEntry(
            cursor=f"s=test;i={index}",
            realtime_us=START_US + index * step_us,
            monotonic_us=1_000_000 + index * step_us,
            boot_id="b" * 32,
            invocation_id="i" * 32,
            unit=unit,
            pid=pid,
            comm="systemd" if pid == 1 else "python3",
            transport="journal" if pid == 1 else "stdout",
            priority=6,
            message=text,
            line_break=None,
        )
        for index, (pid, text) in enumerate(lines)
    ]


def plain(text: str) -> list[JournalEntry]:
    """A text file's lines: nothing is known but the text."""
    none = (None,) * 10
    return [JournalEntry(*none, message=line, line_break=None) for line in text.splitlines()]


def split(entry: JournalEntry, why: LineBreak) -> JournalEntry:
    """The entry as journald writes it where it had to end without a newline."""
    return entry._replace(line_break=why)


def as_export(path: Path) -> Iterator[bytes]:
    """A recorded JSON journal's entries in export format."""
    for line in path.read_text("utf-8").splitlines():
        yield b"".join(_export_field(name, value) for name, value in json.loads(line).items()) + b"\n"


def _export_field(name: str, value: str | list[int]) -> bytes:
    if isinstance(value, str):
        return f"{name}={value}\n".encode()
    return name.encode() + b"\n" + struct.pack("<Q", len(value)) + bytes(value) + b"\n"
