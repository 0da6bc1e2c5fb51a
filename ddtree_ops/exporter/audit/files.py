"""The two files of the host's audit log, read by stat(1), dd(1) and od(1) of GNU coreutils: whole lines, in bounded pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ddtree_ops.exporter.absence import ENGLISH, checked
from ddtree_ops.fleet import places
from ddtree_ops.ports import Command, Shell

FILES = (f"{places.AUDIT}.1", places.AUDIT)
CHUNK = 256 << 10
MOST_CHUNKS = 64  # of one reading: 16 MiB, more than both files have
LONGEST_LINE = 2 << 20


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file as it was seen: the older one has `.1` at its end."""

    path: str
    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class Line:
    """Without its newline; `end` is the offset behind that."""

    data: bytes
    end: int


def look(shell: Shell) -> tuple[LogFile, ...]:
    """Those that are there, the older one first. Raises Unreachable, HostCommandFailed (a directory that is closed to us)."""
    command = Command((*ENGLISH, "stat", "-c", "%i %s %n", *FILES), ok=frozenset({0, 1}), timeout=10.0, most_bytes=1 << 16)
    found = {}
    for line in checked(shell.host, shell.run(command)).stdout.splitlines():
        inode, size, path = line.split(" ", 2)
        found[path] = LogFile(path, int(inode), int(size))
    return tuple(found[path] for path in FILES if path in found)


def lines(shell: Shell, file: LogFile, start: int) -> Iterator[Line]:
    """Whole lines only: the last one may be half written. One that is longer than LONGEST_LINE comes in pieces."""
    offset, length = start, CHUNK
    for _ in range(MOST_CHUNKS):
        if offset >= file.size:
            break
        data = piece(shell, file, offset, length)
        end = data.rfind(b"\n") + 1
        if not end and len(data) < length:
            break
        if not end and length < LONGEST_LINE:
            length = LONGEST_LINE
            continue
        yield from _split(data[: end or len(data)], offset)
        offset, length = offset + (end or len(data)), CHUNK


def piece(shell: Shell, file: LogFile, offset: int, length: int) -> bytes:
    """Bytes as they are. JSON lines of json.dumps are ASCII; where somebody wrote others, text would hide how many there were."""
    flags = "iflag=skip_bytes,count_bytes"
    argv = ("dd", f"if={file.path}", flags, f"skip={offset}", f"count={length}", "bs=65536", "status=none")
    text = _run(shell, argv)
    if text.isascii():
        return text.encode()
    return bytes.fromhex(_run(shell, ("od", "-A", "n", "-v", "-t", "x1", "-j", str(offset), "-N", str(length), file.path)))


def _run(shell: Shell, argv: tuple[str, ...]) -> str:
    return shell.run(Command(argv, timeout=20.0, most_bytes=LONGEST_LINE * 4)).stdout


def _split(data: bytes, offset: int) -> Iterator[Line]:
    for line in data.removesuffix(b"\n").split(b"\n"):
        offset += len(line) + 1
        yield Line(line, offset)
