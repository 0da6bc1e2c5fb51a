"""Entries written in the forms that logs come in, and the lines of a healthy server between them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from ddtree_ops.triage.entry import JournalEntry

Writer = Callable[[JournalEntry], bytes]

_ESCAPED = {8232: "\\u2028", 8233: "\\u2029", 60: "\\u003c", 62: "\\u003e", 38: "\\u0026"}  # as Go's encoding/json does


def _fields(entry: JournalEntry) -> dict[str, str]:
    manager = entry.pid == 1
    values = {
        "__CURSOR": entry.cursor,
        "__REALTIME_TIMESTAMP": entry.realtime_us,
        "__MONOTONIC_TIMESTAMP": entry.monotonic_us,
        "_BOOT_ID": entry.boot_id,
        "_HOSTNAME": entry.hostname,
        "_TRANSPORT": entry.transport,
        "PRIORITY": entry.priority,
        "_PID": entry.pid,
        "_COMM": entry.comm,
        "UNIT" if manager else "_SYSTEMD_UNIT": entry.unit,
        "INVOCATION_ID" if manager else "_SYSTEMD_INVOCATION_ID": entry.invocation_id,
        "_LINE_BREAK": entry.line_break,
    }
    return {name: str(value) for name, value in values.items() if value is not None}


def as_json(entry: JournalEntry) -> bytes:
    """`journalctl -o json --all`: what isn't clean text is an array of bytes."""
    clean = entry.message.isprintable() or all(character.isprintable() or character in "\t\n" for character in entry.message)
    message = entry.message if clean else list(entry.message.encode())
    return json.dumps({**_fields(entry), "MESSAGE": message}, separators=(",", ":")).encode() + b"\n"


def as_export(entry: JournalEntry) -> bytes:
    """`journalctl -o export`: what isn't one line of clean text is a binary field."""
    head = "".join(f"{name}={value}\n" for name, value in _fields(entry).items()).encode()
    data = entry.message.encode()
    if entry.message.isprintable() or entry.message == "":
        return head + b"MESSAGE=" + data + b"\n\n"
    return head + b"MESSAGE\n" + struct.pack("<Q", len(data)) + data + b"\n\n"


def as_short(entry: JournalEntry) -> bytes:
    """`journalctl -o short-iso-precise --all`."""
    at = datetime.fromtimestamp((entry.realtime_us or 0) / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f+0000")
    process = f"[{entry.pid}]" if entry.pid is not None else ""
    head = f"{at} {entry.hostname or 'gpu-a'} {entry.comm or 'python3'}{process}: "
    return (head + entry.message.replace("\n", "\n" + " " * len(head)) + "\n").encode()


def as_plain(entry: JournalEntry) -> bytes:
    """A file that a program's output went to."""
    return entry.message.encode() + b"\n"


def as_cri(entry: JournalEntry) -> bytes:
    """kubernetes' container log; long lines in parts."""
    lines: list[str] = []
    for line in entry.message.split("\n"):
        parts = [line[start : start + 300] for start in range(0, len(line), 300)] or [""]
        lines += [f"2026-04-02T03:04:05.123456789Z stderr P {part}\n" for part in parts[:-1]]
        lines.append(f"2026-04-02T03:04:05.123456789Z stderr F {parts[-1]}\n")
    return "".join(lines).encode()


def as_docker(entry: JournalEntry) -> bytes:
    """docker's json-file."""
    lines = []
    for line in entry.message.split("\n"):
        text = json.dumps(line + "\n").translate(_ESCAPED)
        lines.append(f'{{"log":{text},"stream":"stderr","time":"2026-04-02T03:04:05.123456789Z"}}\n')
    return "".join(lines).encode()


#: Forms that keep processes and times apart, and those that don't.
WITH_PROCESSES: dict[str, Writer] = {"json": as_json, "export": as_export, "short": as_short}
TEXT_ONLY: dict[str, Writer] = {"plain": as_plain, "cri": as_cri, "docker": as_docker}


def healthy(count: int, like: JournalEntry, start: int = 0) -> Iterator[JournalEntry]:
    """What a serving server with eight ranks writes, with the fields of `like`."""
    for index in range(start, start + count):
        rank = index % 8
        message = (
            f"[2026-11-29 18:{index // 60 % 60:02}:{index % 60:02} TP{rank}] Decode batch. #running-req: {index % 64}, "
            f"#token: {index * 7 % 9999}, token usage: 0.{index % 90 + 10}, accept len: 4.{index % 10}, cuda graph: True, "
            f"gen throughput (token/s): {index % 4000}.25, #queue-req: 0, "
        )
        if index % 5 == 4:
            message = f'INFO:     127.0.0.1:{40000 + index % 999} - "POST /generate HTTP/1.1" 200 OK'
        yield like._replace(
            pid=None if like.pid is None else 70_000 + rank,
            comm="sglang::schedul",
            cursor=f"s=healthy;i={index:x}",
            realtime_us=None if like.realtime_us is None else like.realtime_us + (index - start) * 20_000,
            message=message,
            line_break=None,
            transport="stdout",
        )


def padded(entries: Iterable[JournalEntry], *, before: int, every: int, between: int, after: int) -> Iterator[JournalEntry]:
    """The entries with healthy ones before, after, and `between` of them after each `every` entries."""
    kept = list(entries)
    yield from healthy(before, kept[0])
    for index, entry in enumerate(kept):
        yield entry
        if every and index % every == every - 1:
            yield from healthy(between, entry, index * between)
    yield from healthy(after, kept[-1])
