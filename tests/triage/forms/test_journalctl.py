"""What journalctl 252 really prints of one journal, in each of its forms (journalctl/: `journalctl --all -o FORM`, TZ=UTC)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.forms.detect import FormName, form_of
from ddtree_ops.triage.forms.read import read_log

HERE = Path(__file__).parent / "journalctl"
NOW_US = 1_796_000_000_000_000
AT_US = 1_795_977_363_156_364
BOOTS = ("de7bcb44228d4a99ab11ac02c6d5806a", "aa7bcb44228d4a99ab11ac02c6d5806a")
FIRST, SECOND, LATER = "plain one", ["first", "second", "", "  fourth indented"], "    indented code"
REST = ["ünï – ok", LATER]
MANAGER, NAMED = "ddtree-server.service: Failed with result 'signal'.", "colon: in [the] name"
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=77, GPU has fallen off the bus."
SHORT = ("short", "short-full", "short-iso", "short-iso-precise", "short-monotonic", "short-precise", "short-unix", "with-unit")
WHOLE = ("export", "json", "json-seq", "json-sse", "json-pretty", "verbose")


def read(form: str, size: int = 97) -> list[JournalEntry]:
    data = (HERE / form).read_bytes()
    return list(read_log((data[start : start + size] for start in range(0, len(data), size)), NOW_US))


@pytest.mark.parametrize("form", SHORT)
def test_lines_with_headers(form: str) -> None:
    entries = read(form)
    messages = [entry.message for entry in entries]
    assert messages == [FIRST, *SECOND, "bar\rx\x1b[31mred\x1b[0m", *REST, MANAGER, NAMED, XID]
    assert [entry.pid for entry in entries] == [77] * 8 + [1, 78, None]
    assert {entry.hostname for entry in entries} == {"gpu-a"}
    assert entries[-1].transport == "kernel"
    assert [entry.boot_id for entry in entries] == [None] * 10 + [BOOTS[1]]  # told by a line between the boots
    if form == "with-unit":
        assert {entry.unit for entry in entries[:8]} == {"ddtree-server.service"}
    else:
        assert [entry.comm for entry in entries] == ["python3"] * 8 + ["systemd", "sglang::schedul", "kernel"]


@pytest.mark.parametrize(
    ("form", "step"),
    [("short", 1_000_000), ("short-full", 1_000_000), ("short-iso", 1_000_000), ("short-precise", 1), ("short-unix", 1)],
)
def test_times(form: str, step: int) -> None:
    first, *_, last = read(form)
    assert (first.realtime_us, last.realtime_us) == (AT_US // step * step, (AT_US + 8000) // step * step)


def test_a_monotonic_time() -> None:
    assert (read("short-monotonic")[0].monotonic_us, read("short-monotonic")[0].realtime_us) == (57_377_123, None)


@pytest.mark.parametrize("form", WHOLE)
def test_forms_with_all_fields(form: str) -> None:
    entries = read(form)
    messages = [entry.message for entry in entries]
    assert messages == [FIRST, "\n".join(SECOND), "bar\rx\x1b[31mred\x1b[0m", *REST, "", MANAGER, NAMED, XID]
    assert [entry.pid for entry in entries] == [77] * 6 + [1, 78, None]
    assert [entry.realtime_us for entry in entries] == [AT_US + index * 1000 for index in range(9)]
    assert [entry.unit for entry in entries] == ["ddtree-server.service"] * 8 + [None]
    assert all(entry.cursor for entry in entries)


def test_messages_alone() -> None:
    assert [entry.message for entry in read("cat")][:5] == [FIRST, *SECOND]


def test_each_form_is_recognised() -> None:
    names = {path.name: form_of(path.read_bytes()) for path in HERE.iterdir()}
    assert names.pop("export") is FormName.EXPORT
    assert names.pop("verbose") is FormName.VERBOSE
    assert names.pop("json-pretty") is FormName.JSON_PRETTY
    assert {names.pop(name) for name in ("json", "json-seq", "json-sse")} == {FormName.JSON}
    assert set(names.values()) == {FormName.TEXT}
