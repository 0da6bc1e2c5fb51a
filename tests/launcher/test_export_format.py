"""The journal export format: text, binary, and streams cut off anywhere."""

from __future__ import annotations

import io
import struct

import pytest

from sglang_ddtree.export_format import read_entries
from sglang_ddtree.journal_follow import journal_line

BAR = b"\rloading:  50%|##  | 1/2\n\nMESSAGE=forged\n"
STREAM = (
    b"__CURSOR=s=1\n__MONOTONIC_TIMESTAMP=2500000\n_PID=7\nMESSAGE=a=b\n\n"
    b"_PID=8\nMESSAGE\n" + struct.pack("<Q", len(BAR)) + BAR + b"\n\n"
)


def read(data: bytes) -> list[dict[str, bytes]]:
    return list(read_entries(io.BytesIO(data)))


def test_text_and_binary() -> None:
    first, second = read(STREAM)
    assert first == {"__CURSOR": b"s=1", "__MONOTONIC_TIMESTAMP": b"2500000", "_PID": b"7", "MESSAGE": b"a=b"}
    assert second["MESSAGE"] == BAR


def test_a_stream_cut_off_anywhere_gives_whole_entries_only() -> None:
    whole = read(STREAM)
    for length in range(len(STREAM)):
        found = read(STREAM[:length])
        assert found == whole[: len(found)]


def test_not_a_journal() -> None:
    with pytest.raises(ValueError, match="not the journal export format"):
        read(b"garbage\n" + b"\xff" * 64)


def test_message_of_an_entry() -> None:
    line = journal_line({"_PID": b"7", "__MONOTONIC_TIMESTAMP": b"2500000", "MESSAGE": b"caf\xe9"})
    assert line is not None
    assert (line.pid, line.at, line.message) == (7, 2.5, "caf\ufffd")
    assert journal_line({"_PID": b"7"}) is None
