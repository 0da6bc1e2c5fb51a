"""Mutated real logs: never an exception, a valid report, nothing hostile in any form; a fingerprint that holds."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ddtree_ops.errors import UsageError
from ddtree_ops.report.entries import triage_bytes
from ddtree_ops.report.failure import schema
from tests.triage.journals import as_export

ROOT = Path(__file__).parent.parent / "cases"
LOGS = tuple(
    path for path in sorted(ROOT.glob("*/*/*")) if path.name.startswith(("log.", "journal.")) and path.stat().st_size < 60_000
)
TEXTS = tuple(path for path in LOGS if path.suffix == ".txt")
PREFIXES = (
    "Apr 02 03:04:05 gpu-a python[4711]: ",
    "(EngineCore_DP0 pid=2000) ERROR 04-02 03:04:05 [core.py:1101] ",
    "2026-04-02T03:04:05.123456789Z stderr F ",
    "[rank3]: ",
    "\x1b[31m",
    "sglang-1  | ",
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
CHECKER = jsonschema.Draft202012Validator(schema())
FUZZ = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@cache
def content(path: Path) -> bytes:
    return path.read_bytes()


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """One or two logs, cut, repeated, garbled, mixed line by line, or with another prefix on every line."""
    data = content(draw(st.sampled_from(LOGS)))
    for how in draw(st.lists(st.sampled_from(["cut", "repeat", "garble", "mix", "prefix", "binary"]), min_size=1, max_size=4)):
        at, to = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        if how == "cut":
            data = data[:at] + data[to:]
        elif how == "repeat":
            data = data[:to] + data[at : min(to, at + 20_000)] + data[to:]
        elif how == "garble":
            data = data[:at] + draw(st.binary(max_size=40)) + data[at + 10 :]
        elif how == "binary":
            data = data[:at] + b"\x00\xff\r\x1b[2J\xe2\x80\xae" + data[at:]
        elif how == "mix":
            other = content(draw(st.sampled_from(TEXTS))).split(b"\n")
            data = b"\n".join(line for pair in zip(data.split(b"\n"), other, strict=False) for line in pair)
        else:
            prefix = draw(st.sampled_from(PREFIXES)).encode()
            data = b"\n".join(prefix + line for line in data.split(b"\n"))
    return data[:200_000]


@FUZZ
@given(damaged(), st.integers(1, 5000))
def test_damage_never_raises_and_reaches_no_reader(data: bytes, size: int) -> None:
    try:
        report = triage_bytes([data[at : at + size] for at in range(0, len(data), size)])
    except UsageError:  # an export without one whole entry is refused, and that is said
        return
    CHECKER.validate(json.loads(report.to_json()))
    for text in (report.to_terminal(colour=False), report.to_markdown(), report.to_html()):
        assert not CONTROL.search(text)


@FUZZ
@given(st.sampled_from(TEXTS), st.integers(1, 9999), st.integers(0, 7))
def test_the_fingerprint_holds_over_lines_ranks_and_addresses(path: Path, shift: int, rank: int) -> None:
    """As another build of the same code, on another rank, would print it."""
    text = content(path).decode("utf-8", "replace")
    before = triage_bytes([text.encode()]).root
    other = re.sub(r"(?<=, line )\d+", lambda found: str(int(found[0]) + shift), text)
    other = re.sub(r"0x[0-9a-f]{6,}", lambda found: f"0x{(int(found[0], 16) + shift * 16) & 0xFFFFFFFFFFFF:012x}", other)
    if len(set(re.findall(r"(?: TP|\[rank)(\d)\]", text))) == 1:
        other = re.sub(r"(?<=TP|nk)\d(?=\])", str(rank), other)
    after = triage_bytes([other.encode()]).root
    assert (before and before.fingerprint) == (after and after.fingerprint)


@settings(FUZZ, max_examples=40)
@given(st.sampled_from(sorted((ROOT / "recorded").glob("*/journal.jsonl"))), st.integers(1, 70_000))
def test_the_form_does_not_matter(path: Path, size: int) -> None:
    """The same entries as JSON and in export form, in pieces of any size: the same report."""
    whole = b"".join(as_export(path))
    pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    assert triage_bytes(pieces).to_data() == triage_bytes([content(path)]).to_data()
