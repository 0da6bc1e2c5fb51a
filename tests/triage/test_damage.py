"""Export streams with damage: what follows it is read, and what was lost is told."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Iterator

import pytest

from ddtree_ops.errors import UsageError
from ddtree_ops.report.entries import triage_entries
from ddtree_ops.triage.entry import MESSAGE_LIMIT, UNREADABLE, JournalEntry, number
from ddtree_ops.triage.forms.export_stream import ExportReader, read_export
from ddtree_ops.triage.forms.json_lines import parse_json_line

BEFORE, AFTER = range(5), range(5, 12)


def entry(index: int, *, binary: bool = False) -> bytes:
    message = f"line {index}".encode()
    value = b"MESSAGE\n" + struct.pack("<Q", len(message)) + message + b"\n" if binary else b"MESSAGE=" + message + b"\n"
    return f"__CURSOR=s=1;i={index}\n__REALTIME_TIMESTAMP={1000 + index}\n_PID=9\nUNIT=a.service\n".encode() + value + b"\n"


def stream(damage: bytes, *, binary: bool = False) -> bytes:
    before, after = (b"".join(entry(index, binary=binary) for index in part) for part in (BEFORE, AFTER))
    return before + damage + after


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def read(data: bytes, size: int = 65536) -> tuple[list[str], list[str]]:
    """Messages, and what was told of losses."""
    entries = list(read_export(pieces(data, size)))
    return [item.message for item in entries if item.transport != UNREADABLE], [
        item.message for item in entries if item.transport == UNREADABLE
    ]


def lines(*indices: int) -> list[str]:
    return [f"line {index}" for index in indices]


NOISE = random.Random(7)  # noqa: S311 - the same garbage each time
DAMAGE = {
    "byte": b"\xff",
    "short": b"\x80\xff",
    "line": b"\x80\xff garbage\n",
    "lines": b"\xde\xad\n\xbe\xef\n\n",
    "text": b"warning: x=1\n",
    "text block": b"warning: x=1\n\n",
    "zeros": bytes(5000),
    "newlines and zeros": b"\n\x00\n\x00\n",
    "huge length": b"MESSAGE\n" + b"\xff" * 8,
    "length of text": b"MESSAGE\n__CURSOR",
    "wrong length": b"MESSAGE\n" + struct.pack("<Q", 40) + b"short\n\n",
    "length beyond the end": b"__CURSOR=s=1;i=x\nMESSAGE\n" + struct.pack("<Q", 900_000) + b"short\n\n",
    "lower case name": b"__CURSOR=s=1;i=x\nmessage=no\n\n",
    "wrong text": b"__CURSOR=s=1;i=x\nMESSAGE=\xff\xfe\n\n",
    "half an entry": entry(99)[:40],
    "half a binary entry": entry(99, binary=True)[:-4],
    "long line": b"\xfe" * (2 * MESSAGE_LIMIT),
    **{f"noise {size}": NOISE.randbytes(size) for size in (7, 300, 5000, 200_000)},
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("size", [997, 65536])
def test_what_follows_damage_is_read_and_the_loss_is_told(name: str, binary: bool, size: int) -> None:
    messages, losses = read(stream(DAMAGE[name], binary=binary), size)
    assert messages == lines(*BEFORE, *AFTER)
    assert len(losses) == 1


@pytest.mark.parametrize("seed", range(30))
def test_bytes_overwritten_anywhere_cost_few_entries(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    data = bytearray(b"".join(entry(index, binary=index % 3 == 0) for index in range(60)))
    start = chance.randrange(len(data) - 300)
    data[start : start + 40] = chance.randbytes(40)
    messages, _ = read(bytes(data), 4096)
    intact = [text for text in lines(*range(60)) if text in messages]
    assert len(intact) >= 57
    assert messages[-1] == "line 59"


def test_the_loss_has_its_place_and_is_in_the_report() -> None:
    entries = list(read_export([stream(b"\x00\xff\x00\n")]))
    (gap,) = (item for item in entries if item.transport == UNREADABLE)
    assert (gap.cursor, gap.realtime_us, gap.pid) == ("s=1;i=4", 1004, None)
    report = triage_entries(entries)
    (event,) = report.to_data()["events"]
    assert event["kind"] == "unreadable_input"
    assert report.lines_read == len(BEFORE) + len(AFTER)
    assert "could not be read" in report.to_terminal(colour=False)
    assert "could not be read" in report.to_markdown()


def test_a_half_entry_is_never_mixed_with_the_next_one() -> None:
    whole = {(f"s=1;i={index}", f"line {index}") for index in (*BEFORE, *AFTER)}
    for kept in range(1, len(entry(99)) - 1):
        entries = list(read_export([stream(entry(99)[:kept])]))
        found = {(item.cursor, item.message) for item in entries if item.cursor and item.transport != UNREADABLE}
        assert found <= whole, kept
        assert len(found) >= len(whole) - 1, kept


def test_damage_at_the_end_is_told() -> None:
    messages, losses = read(entry(1) + b"\xff\xff\n\xff")
    assert (messages, len(losses)) == (["line 1"], 1)
    assert read(entry(1) + entry(2, binary=True)[:-4]) == (["line 1"], [])  # only unfinished
    swallowed = entry(1) + b"__CURSOR=s=1;i=2\nMESSAGE\n" + struct.pack("<Q", 500 << 20) + b"x" * (2 * MESSAGE_LIMIT)
    assert len(read(swallowed)[1]) == 1


def test_damage_at_the_beginning_is_survived() -> None:
    messages, losses = read(b"\xff\xff\n" + entry(1))
    assert (messages, len(losses)) == (["line 1"], 1)


def test_what_is_nowhere_an_export_is_refused_soon() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield NOISE.randbytes(65536)

    with pytest.raises(UsageError, match="export format"):
        list(read_export(endless()))
    assert taken < 40


@pytest.mark.parametrize(
    "evil",
    [
        b"__CURSOR=a\nMESSAGE\n" + struct.pack("<Q", MESSAGE_LIMIT - 1),
        b"__CURSOR=\xff",
        b"__CURSOR=a\n",
        b"__CURSOR=a\n\xff=",
        b"MESSAGE\n\xff",
        b"\n\n\xff\n",
    ],
)
def test_no_damage_grows(evil: bytes) -> None:
    reader, data = ExportReader(), evil * ((2 * MESSAGE_LIMIT) // len(evil))
    assert len(list(reader.feed(entry(1)))) == 1
    for piece in pieces(data, 65536):
        for _ in reader.feed(piece):
            pass
        assert len(reader._buffer) <= MESSAGE_LIMIT + 2 * 65536
    rest: list[object] = [*reader.feed(b"\n\n" + entry(2)), *reader.close()]
    assert "line 2" in [item.message for item in rest if isinstance(item, JournalEntry)]


def test_an_entry_of_endless_fields_is_not_kept() -> None:
    reader = ExportReader()
    list(reader.feed(b"__CURSOR=a\n"))
    tracemalloc.start()
    for index in range(200):
        list(reader.feed(f"F{index}=".encode() + b"x" * 100_000 + b"\n"))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 4_000_000


def test_numbers_and_json_values_beyond_all_bounds() -> None:
    assert number("9" * 5000) is None
    depth = 940
    deep = '{"MESSAGE": ' + "[" * depth + '"x"' + "]" * depth + "}"
    assert parse_json_line(deep).message in ("x", deep)
    assert parse_json_line('{"MESSAGE": "m", "_PID": 1e999, "PRIORITY": NaN}').message == "m"
