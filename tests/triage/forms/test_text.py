"""Lines with all sorts of headers, and what only looks like one."""

from __future__ import annotations

import pytest

from ddtree_ops.triage.entry import MESSAGE_LIMIT, JournalEntry
from ddtree_ops.triage.forms.headers import Header, read_header
from ddtree_ops.triage.forms.read import read_log
from tests.hang import ends

APRIL_2_US = 1_775_099_045_000_000  # 2026-04-02 03:04:05 UTC
DAY_US = 86_400_000_000


def read(text: str, now_us: int | None = None) -> list[JournalEntry]:
    return list(read_log([text.encode()], now_us))


@pytest.mark.parametrize(
    ("line", "message", "fields"),
    [
        ("2026-04-02T03:04:05,100001+00:00 NVRM: Xid", "NVRM: Xid", {"realtime_us": APRIL_2_US + 100_001, "transport": "kernel"}),
        ("[Thu Apr  2 03:04:05 2026] NVRM: Xid", "NVRM: Xid", {"realtime_us": APRIL_2_US, "transport": "kernel"}),
        ("[ 7582.502088] dl4: port 1", "dl4: port 1", {"monotonic_us": 7_582_502_088, "transport": "kernel", "comm": "kernel"}),
        ("[ 7582.502088][    T1] systemd[1]: x", "x", {"transport": None, "pid": 1, "comm": "systemd"}),
        ("[  172.681244] python3[7]: segfault at 0 ip 1", "python3[7]: segfault at 0 ip 1", {"transport": "kernel", "pid": None}),
        ("kern  :err   : [ 1843.308145] NVRM: x", "NVRM: x", {"transport": "kernel", "monotonic_us": 1_843_308_145}),
        ("daemon:info  : [    3.100000] systemd[1]: x", "x", {"transport": None, "pid": 1}),
        ("kern  :err   : 2026-04-02T03:04:05,000000+00:00 x: y", "x: y", {"transport": "kernel", "realtime_us": APRIL_2_US}),
        ("192.0.2.7: kern:     err: [2026-04-02T03:04:05.000000000Z]: x", "x", {"transport": "kernel", "hostname": "192.0.2.7"}),
        ("localhost systemd[1]: x", "x", {"pid": 1, "hostname": "localhost"}),
        ("[2026-04-02T03:04:05.000Z] fatal: [a]: x", "fatal: [a]: x", {"realtime_us": APRIL_2_US}),
        ("03:04:05  fatal: [a]: x", "fatal: [a]: x", {"realtime_us": None}),
        ("11月 02 03:04:05 h systemd[1]: x", "x", {"pid": 1, "hostname": "h"}),
        ("avril 02 03:04:05 h x[7]: y", "y", {"pid": 7, "realtime_us": APRIL_2_US}),
        ("Mär 02 03:04:05 h x[7]: y", "y", {"pid": 7, "comm": "x"}),
        ("gpu-1 | UNREACHABLE! => {", "gpu-1 | UNREACHABLE! => {", {"hostname": None}),
        ("\x1b[36msglang_1  |\x1b[0m x", "x", {"hostname": "sglang_1"}),
        ("Apr 02 03:04:05 h systemd[1]: a@1.service: Failed", "a@1.service: Failed", {"unit": "a@1.service"}),
        ("Apr 02 03:04:05 h systemd[1]: Started a.service - A.", "Started a.service - A.", {"unit": "a.service"}),
        ("<3>[    0.000001] a: b", "a: b", {"transport": "kernel"}),
        ("kernel: NVRM: Xid", "NVRM: Xid", {"transport": "kernel", "comm": "kernel", "realtime_us": None}),
        ("systemd[1]: a.service: Failed with result 'timeout'.", "a.service: Failed with result 'timeout'.", {"pid": 1}),
        (
            "2026-04-02T03:04:05.1+02:00 h kernel: [   12.345678] NVRM: x",
            "NVRM: x",
            {"monotonic_us": 12_345_678, "hostname": "h"},
        ),
        ("2026-04-02T05:04:05+0200 h p[7]: a", "a", {"realtime_us": APRIL_2_US, "pid": 7, "comm": "p"}),
        ("Thu 2026-04-02 03:04:05 UTC h a.service[7]: x", "x", {"unit": "a.service", "pid": 7, "comm": None}),
        ("Apr  2 03:04:05 h sudo:    root : TTY", "   root : TTY", {"comm": "sudo", "pid": None, "hostname": "h"}),
        ("Apr 02 03:04:05 p[7]: no host", "no host", {"comm": "p", "pid": 7, "hostname": None}),
        ("Apr 02 03:04:05 h p[7]:", "", {"pid": 7}),
        ("2026-04-02T03:04:05.000000001Z stderr F text", "text", {"realtime_us": APRIL_2_US, "transport": "stderr"}),
        ("2026-04-02T05:04:05.5+02:00 stdout F  two", " two", {"realtime_us": APRIL_2_US + 500_000}),
        ("2026-04-02T03:04:05.000000001Z   File x", "  File x", {"realtime_us": APRIL_2_US}),
        ("[pod/sglang-0/main] 2026-04-02T03:04:05.000000001Z text", "text", {"hostname": "sglang-0", "realtime_us": APRIL_2_US}),
        ("[pod/sglang-0/main] text", "text", {"hostname": "sglang-0"}),
        ("sglang-server-1  | text", "text", {"hostname": "sglang-server-1"}),
        ("sglang_1  |   File x", "  File x", {"hostname": "sglang_1"}),
    ],
)
def test_header(line: str, message: str, fields: dict[str, object]) -> None:
    (entry,) = read(line, APRIL_2_US)
    assert entry.message == message
    assert {name: getattr(entry, name) for name in fields} == fields


@pytest.mark.parametrize(
    "line",
    [
        "[2026-04-02 03:04:05 TP0] Load weight begin",
        "2026-04-02 03:04:05 | ERROR | stderr | Traceback (most recent call last):",
        "2026-04-02 03:04:05,123 - name - ERROR - text",
        "(EngineCore_DP0 pid=2000) ERROR 04-02 03:04:05 [core.py:1101] Traceback (most recent call last):",
        "[rank3]:[E402 03:04:05.4 ProcessGroupGloo.cpp:143] Rank 3",
        "INFO:     Started server process [6001]",
        "  | ExceptionGroup: two",
        "Apr 02 03:04:05",
        "Apr 02 was a day",
        "Foo 99 03:04:05 h p[7]: x",
        "2026-13-02T03:04:05",
        "kernelspec: x",
        "systemd[2]: a user's",
        "-- not a remark of journalctl --",
        "a | b",
        "[0.5] a list",
        "",
    ],
)
def test_no_header(line: str) -> None:
    assert [(entry.message, entry.pid, entry.realtime_us) for entry in read(line + "\n", APRIL_2_US)] == [(line, None, None)]


@pytest.mark.parametrize(
    ("now_us", "year_us"),
    [(APRIL_2_US, APRIL_2_US), (APRIL_2_US - DAY_US // 2, APRIL_2_US), (APRIL_2_US - 2 * DAY_US, APRIL_2_US - 365 * DAY_US)],
)
def test_a_missing_year_is_the_newest_that_can_be(now_us: int, year_us: int) -> None:
    (entry,) = read("Apr 02 03:04:05 h p[7]: x", now_us)
    assert entry.realtime_us == year_us


def test_a_29th_of_february() -> None:
    (entry,) = read("Feb 29 00:00:00 h p[7]: x", APRIL_2_US)
    assert entry.realtime_us == 1_709_164_800_000_000  # 2024
    assert read("Feb 30 00:00:00 h p[7]: x", APRIL_2_US)[0].realtime_us is None


def test_without_a_clock_a_missing_year_leaves_the_order() -> None:
    first, second = read("Apr 02 03:04:05 h p[7]: x\nApr 03 03:04:05.5 h p[7]: y")
    assert (first.realtime_us, second.realtime_us) == (None, None)
    assert first.monotonic_us is not None and second.monotonic_us == first.monotonic_us + DAY_US + 500_000


def test_a_mixture() -> None:
    entries = read(
        "INFO: up\nApr 02 03:04:05 h systemd[1]: a.service: x\n    code\nApr 02 03:04:05 h p[7]: a\n" + " " * 24 + "b\n"
    )
    assert [(entry.message, entry.pid) for entry in entries] == [
        ("INFO: up", None),
        ("a.service: x", 1),
        ("    code", None),
        ("a", 7),
        ("b", 7),
    ]


def test_parts_of_container_lines() -> None:
    parts = ["stderr P Trace", "stdout P one ", "stderr P back (most", "stdout F line", "stderr F  recent", "stderr P cut"]
    text = "\n".join(f"2026-04-02T03:04:05.000000001Z {part}" for part in parts)
    assert [entry.message for entry in read(text)] == ["one line", "Traceback (most recent", "cut"]


def test_docker() -> None:
    text = (
        '{"log":"\\u003cTrace","stream":"stderr","time":"2026-04-02T03:04:05.5Z"}\n'
        '{"log":"other\\n","stream":"stdout","time":"x"}\n'
        '{"log":"back\\u003e\\n","stream":"stderr","time":"2026-04-02T03:04:05.5Z"}\n'
    )
    other, joined = read(text)
    assert (other.message, other.transport, other.realtime_us) == ("other", "stdout", None)
    assert (joined.message, joined.transport, joined.realtime_us) == ("<Traceback>", "stderr", APRIL_2_US + 500_000)


def test_a_bar_without_end_is_cut_at_its_returns_and_what_follows_is_kept() -> None:
    bar = "\r 50%|##   | 1/2 [00:01<00:01,  1.0it/s]"
    data = (bar * (2 * MESSAGE_LIMIT // len(bar)) + "\rTraceback (most recent call last):\n  next\n").encode()
    for size in (1000, 65536, len(data)):
        *pieces, tail, after = read_log(data[start : start + size] for start in range(0, len(data), size))
        assert all(len(piece.message) <= MESSAGE_LIMIT and piece.message.endswith("\r") for piece in pieces)
        assert tail.message.endswith("Traceback (most recent call last):")
        assert after.message == "  next"


@pytest.mark.parametrize(
    "evil",
    [
        "Apr 02 03:04:05 " + "a" * 300,
        "Apr 02 03:04:05 a " + "[" * 300,
        "a" * 1_000_000,
        "a-1" * 300_000 + "|",
        "A-1 " * 250_000 + "|",
        "2026-04-02T03:04:05.1Z" + " " * 1_000_000,
        "[" + " " * 1_000_000,
        "[pod/" + "a" * 1_000_000,
        "1" * 1_000_000,
        "-- cursor: " + "s" * 1_000_000,
        "-- Logs begin at " + " at" * 300_000,
    ],
)
def test_every_line_comes_to_an_end(evil: str) -> None:
    with ends():
        read_header(evil)
        read(evil, APRIL_2_US)


def test_a_header_is_a_plain_tuple() -> None:
    assert read_header("kernel: x") == Header(8, comm="kernel", transport="kernel")
