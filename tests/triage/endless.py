"""Input without end, or that unpacks to it: `python -m tests.triage.endless NAME` reads it and prints the megabytes it took."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ddtree_ops.report.entries import triage_bytes

MB = 1 << 20


def gzip(data: Iterable[bytes]) -> Iterator[bytes]:
    """The data packed."""
    packer = zlib.compressobj(wbits=31)
    for piece in data:
        yield packer.compress(piece)
    yield packer.flush()


def after(start: bytes, piece: bytes, count: int) -> Iterator[bytes]:
    """`start`, and then the piece again and again."""
    yield start
    for _ in range(count):
        yield piece


BAR = b"\r 50%|##   | 1/2 [00:01<00:01, 1.0it/s]"
ENDLESS: dict[str, Callable[[], Iterator[bytes]]] = {
    "one_line": lambda: after(b"", b"x" * MB, 200),
    "one_bar": lambda: after(b"", BAR * 1600, 2000),
    "one_json_line": lambda: after(b"{", b'"MESSAGE":"' + b"x" * MB, 200),
    "one_json_array": lambda: after(b'{"MESSAGE":[', b"120," * 16384, 2000),
    "one_pretty_value": lambda: after(b'{\n"MESSAGE" : [\n', b"\t120,\n" * 9000, 130),
    "one_verbose_value": lambda: after(
        b"Sun 2026-11-29 18:36:03.156364 UTC [s=a;i=1]\n    MESSAGE=x\n", b"            more\n" * 4000, 40
    ),
    "one_export_field": lambda: after(b"__CURSOR=c\nMESSAGE=", b"x" * MB, 200),
    "export_fields": lambda: after(b"__CURSOR=c\nMESSAGE=", b"x" * 1000 + b"\nA=", 100_000),
    "empty_lines": lambda: after(b"", b"\n" * 65536, 200),
    "tiny_entries": lambda: after(b"", b"__CURSOR=c\nMESSAGE=\n\n" * 4096, 800),
    "parts_of_lines": lambda: after(b"", b"2026-04-02T03:04:05.123456789Z stderr P xxxxxxxx\n" * 1000, 60),
    "docker_parts": lambda: after(b"", b'{"log":"xxxxxxxxxxxxxxxx","stream":"stderr","time":""}\n' * 1000, 60),
    "zip_bomb": lambda: gzip(after(b"", b"\0" * MB, 100)),
}

if __name__ == "__main__":
    triage_bytes(ENDLESS[sys.argv[1]]())
    # not ru_maxrss: that keeps what the process had as a copy of its parent, before it became this program
    peak = next(line for line in Path("/proc/self/status").read_text("ascii").splitlines() if line.startswith("VmHWM:"))
    sys.stdout.write(f"{int(peak.split()[1]) // 1024}\n")
