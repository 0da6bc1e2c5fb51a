"""The two machine-readable forms of journalctl, and its commands."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator

import pytest

from ddtree_ops.errors import HostCommandFailed, UsageError
from ddtree_ops.triage import journal
from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry, LineBreak
from ddtree_ops.triage.forms.export_stream import ExportReader
from ddtree_ops.triage.forms.json_lines import parse_json_line
from tests.triage.journals import read_json

PLAIN = b"__CURSOR=s=1;i=2\n__REALTIME_TIMESTAMP=17\n_PID=9\nPRIORITY=6\n_LINE_BREAK=pid-change\nMESSAGE=a = b\n\n"


def binary(message: bytes) -> bytes:
    return b"__CURSOR=c\nMESSAGE\n" + struct.pack("<Q", len(message)) + message + b"\n_PID=7\n\n"


def test_export_fields() -> None:
    (entry,) = journal.read_export([PLAIN])
    assert (entry.cursor, entry.realtime_us, entry.pid, entry.priority) == ("s=1;i=2", 17, 9, 6)
    assert (entry.message, entry.line_break) == ("a = b", LineBreak.PID_CHANGE)


@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_export_binary_field_holding_the_formats_own_marks(size: int) -> None:
    data = binary("\rbar\n\nMESSAGE=no\n\n\x1b[0m é".encode()) + PLAIN
    first, second = journal.read_export(data[start : start + size] for start in range(0, len(data), size))
    assert first.message == "\rbar\n\nMESSAGE=no\n\n\x1b[0m é"
    assert (first.pid, second.pid) == (7, 9)


def test_export_entry_comes_with_its_empty_line() -> None:
    given: list[str] = []

    def chunks() -> Iterator[bytes]:
        given.append("first")
        yield PLAIN[:-1]
        given.append("empty line")
        yield b"\n"
        given.append("too late")
        yield PLAIN

    next(journal.read_export(chunks()))
    assert given == ["first", "empty line"]


def test_export_unfinished_entry_is_dropped() -> None:
    assert list(journal.read_export([PLAIN + PLAIN[:30]])) == list(journal.read_export([PLAIN]))


@pytest.mark.parametrize("form", ["text", "binary"])
def test_export_huge_field_is_cut_and_reading_goes_on(form: str) -> None:
    big = b"x" * (3 * MESSAGE_LIMIT)
    data = (binary(big) if form == "binary" else b"_PID=7\nMESSAGE=" + big + b"\n\n") + PLAIN
    reader = ExportReader()
    entries: list[JournalEntry] = []
    for start in range(0, len(data), 65536):
        entries += [item for item in reader.feed(data[start : start + 65536]) if isinstance(item, JournalEntry)]
        assert len(reader._buffer) <= MESSAGE_LIMIT + 2 * 65536
    assert [entry.pid for entry in entries] == [7, 9]
    assert entries[0].truncated
    assert len(entries[0].message) <= MESSAGE_LIMIT + 16


@pytest.mark.parametrize("data", [b"x" * 300 + b"\n" + b"y" * 20, binary(b"abc").replace(b"\x03", b"\x02", 1)])
def test_export_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(UsageError, match="export format"):
        list(journal.read_export([data]))


def test_json_forms_of_a_message() -> None:
    values: list[object] = ["text", [13, 97, 255], None, ["one", "two"], [[104, 105], [106]]]
    data = b"".join(json.dumps({"MESSAGE": value, "_PID": "5"}).encode() + b"\n" for value in values)
    entries = read_json([data[:40], data[40:]])
    assert [entry.message for entry in entries] == ["text", "\ra\ufffd", "", "two", "j"]
    assert [entry.truncated for entry in entries] == [False, False, True, False, False]


def test_json_manager_lines_have_the_units_name_and_invocation() -> None:
    line = b'{"_PID":"1","_SYSTEMD_UNIT":"init.scope","UNIT":"a.service","INVOCATION_ID":"x","MESSAGE":"m"}'
    entry = parse_json_line(line)
    assert (entry.unit, entry.invocation_id) == ("a.service", "x")


def test_json_other_lines_are_kept_as_text() -> None:
    entries = read_json([b'-- No entries --\n{"MESSAGE": "cut\n\n[1]\n' + b"[" * 100_000 + b"\n"])
    assert [entry.message[:16] for entry in entries] == ['{"MESSAGE": "cut', "[1]", "[" * 16]


def test_commands() -> None:
    follow = journal.follow("a@1.service", "s=1;i=2")
    assert {"--unit=a@1.service", "--after-cursor=s=1;i=2", "--follow", "--no-tail", "--output=export"} <= set(follow)
    assert not any(item.startswith("--after-cursor") for item in journal.follow("a.service", None))
    run = journal.read("a.service", invocation="f00")
    assert run[-6:] == (
        "_SYSTEMD_UNIT=a.service",
        "_SYSTEMD_INVOCATION_ID=f00",
        "+",
        "_PID=1",
        "UNIT=a.service",
        "INVOCATION_ID=f00",
    )
    kernel = journal.read("a.service", invocation="f00", since="-1h", kernel=True)
    assert kernel[-9:] == (*run[-6:], "+", "_TRANSPORT=kernel", "_TRANSPORT=audit")
    assert journal.follow("a.service", "c", kernel=True)[5:12] == (
        "_SYSTEMD_UNIT=a.service",
        "+",
        "_PID=1",
        "UNIT=a.service",
        "+",
        "_TRANSPORT=kernel",
        "_TRANSPORT=audit",
    )
    assert "--after-cursor=s=1" in journal.read("a.service", after_cursor="s=1")
    assert "--since=-1h" in journal.read("a.service", since="-1h")


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("journalctl") is None, reason="no journalctl here")
@pytest.mark.parametrize(
    "command",
    [
        journal.read("a.service", since="-1h"),
        journal.read("a.service", invocation="f" * 32),
        journal.read("a.service", since="-1h", kernel=True),
        journal.last_cursor(),
    ],
)
def test_journalctl_takes_the_commands(command: tuple[str, ...], tmp_path: object) -> None:
    done = subprocess.run((*command, f"--directory={tmp_path}"), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_parse_cursor() -> None:
    assert journal.parse_cursor(b"__CURSOR=s=9;i=1\n_BOOT_ID=b\n\n") == "s=9;i=1"
    with pytest.raises(HostCommandFailed, match="no entry"):
        journal.parse_cursor(b"")
