"""Any bytes, in any pieces, packed or not: nothing raises, and the pieces don't matter."""

from __future__ import annotations

import gzip
import lzma
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ddtree_ops.errors import UsageError
from ddtree_ops.triage.entry import MESSAGE_LIMIT, UNREADABLE, JournalEntry
from ddtree_ops.triage.forms.json_lines import parse_json_line
from ddtree_ops.triage.forms.read import read_log
from tests.triage.journals import CASES, as_export

FORMS = sorted((Path(__file__).parent / "journalctl").iterdir())
STORY = CASES / "tp2_ddtree_shape" / "journal.jsonl"


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def read(data: bytes, size: int = 65536) -> list[JournalEntry]:
    return list(read_log(pieces(data, size)))


@pytest.mark.parametrize("form", [path.name for path in FORMS])
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_pieces_do_not_matter(form: str, size: int) -> None:
    data = (FORMS[0].parent / form).read_bytes()
    assert read(data, size) == read(data)


STARTS = [path.read_bytes()[:700] for path in FORMS] + [gzip.compress(b"a\nb\n"), zstandard.compress(b"a\nb\n")]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(STARTS), st.binary(max_size=200), st.integers(0, 700), st.integers(1, 90))
@example(b"", b"\xff\xfe", 0, 1)
def test_any_bytes_are_read(start: bytes, noise: bytes, at: int, size: int) -> None:
    for data in (start[:at] + noise + start[at:], start[:at] + noise, noise):
        try:
            entries = read(data, size)
        except UsageError:
            continue
        assert all(len(entry.message) <= MESSAGE_LIMIT for entry in entries)
        for entry in entries:
            entry.message.encode()  # no halves of surrogate pairs


def packers() -> dict[str, tuple[bytes, ...]]:
    data = b"".join(as_export(STORY))
    half = len(data) // 2
    return {
        "gzip": (gzip.compress(data),),
        "gzip members": (gzip.compress(data[:half]), gzip.compress(data[half:])),
        "gzip padded": (gzip.compress(data[:half]), bytes(512), gzip.compress(data[half:]), bytes(1000)),
        "zstd": (zstandard.compress(data),),
        "zstd frames": (zstandard.compress(data[:half]), zstandard.compress(data[half:])),
    }


@pytest.mark.parametrize("name", packers())
@pytest.mark.parametrize("size", [1, 1000, 1 << 20])
def test_packed(name: str, size: int) -> None:
    assert read(b"".join(packers()[name]), size) == read(b"".join(as_export(STORY)))


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_truncated_end_gives_what_there_is(name: str) -> None:
    noise = random.Random(3).randbytes(400_000)  # noqa: S311 - the same each time
    lines = b"".join(b"%d %s\n" % (number, noise[number * 40 : number * 40 + 40].hex().encode()) for number in range(9000))
    packed = gzip.compress(lines) if name == "gzip" else zstandard.compress(lines)
    found = read(packed[: len(packed) // 2])
    assert len(found) > 1000
    assert found[1000].message == lines.split(b"\n")[1000].decode()


def test_damage_in_packed_data_is_told() -> None:
    packed = bytearray(gzip.compress(random.Random(3).randbytes(300_000).hex().encode() + b"\nlast\n"))  # noqa: S311
    packed[len(packed) // 2 : len(packed) // 2 + 400] = bytes(400)
    assert read(bytes(packed))[-1].transport == UNREADABLE
    trailing = read(gzip.compress(b"one\ntwo\n") + b"garbage behind it")
    assert [entry.message for entry in trailing[:2]] == ["one", "two"]
    assert trailing[2].transport == UNREADABLE


def test_packed_data_that_is_broken_from_its_beginning_is_refused() -> None:
    for data in (b"\x1f\x8b" + b"\xff" * 100, b"\x28\xb5\x2f\xfd" + b"\xff" * 100):
        with pytest.raises(UsageError, match="unpacked"):
            read(data)
    assert read(lzma.compress(b"a\n"))  # not known: some text


def test_what_orjson_refuses() -> None:
    assert parse_json_line(b'{"MESSAGE":"a\\ud800b","_PID":NaN}').message == "a?b"
    assert parse_json_line(b'{"MESSAGE":"a\xffb"}').message == "a\ufffdb"
    assert parse_json_line('{"MESSAGE":"x","_PID":1' + "0" * 5000 + "}").pid is None


def test_an_overlong_json_line_is_one_entry_whatever_it_holds() -> None:
    evil = b'{"MESSAGE":"' + b"x" * (7 * MESSAGE_LIMIT) + b'{"MESSAGE":"Traceback","_PID":"1"}\n'
    entries = read(evil + b'{"MESSAGE":"after"}\n')
    assert [entry.pid for entry in entries] == [None, None]
    assert (entries[0].truncated, entries[1].message) == (True, "after")
