"""How fast triage reads, and in how much memory: run by hand.

    python -m benchmarks.triage                 # 1 GB in each form
    python -m benchmarks.triage --size 200 json plain
    python -m benchmarks.triage --keep DIR      # leaves the files there

Each form is written once: `export` and `json` as journalctl prints them with the fields that triage asks for, `short` as
`journalctl -o short-iso-precise`, `plain` as a program's own output. The mixture, of entries:

    79.9%  `Decode batch` lines of eight ranks      of a serving server
    20%    uvicorn's access lines
    0.1%   a warning with a number in it
    and the recorded start and crash of tp2_ddtree_shape (185 entries): its start before, its crash behind

Peers in the same run, over the same file: `cat`, and `grep -c Traceback`. Numbers depend on the machine; compare within a run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ddtree_ops.triage.entry import JournalEntry
from tests.triage.journals import recorded
from tests.triage.written_forms import as_export, as_json, as_plain, as_short, healthy

FORMS: dict[str, Callable[[JournalEntry], bytes]] = {"json": as_json, "export": as_export, "short": as_short, "plain": as_plain}
MEGABYTE = 1_000_000
START = 95  # entries of the recorded journal that belong to its start
_CHILD = """
import json, resource, sys, time
from ddtree_ops.report.entries import triage_bytes
with open(sys.argv[1], "rb", buffering=0) as log:
    begin, cpu = time.perf_counter(), time.process_time()
    report = triage_bytes(iter(lambda: log.read(65536), b""))
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
kinds = [item.kind.value for item in report.failures]
print(json.dumps({"seconds": seconds, "cpu": cpu, "entries": report.lines_read, "peak": peak, "kinds": kinds}))
"""


COLUMNS = ("form", "MB", "entries", "MB/s", "entries/s", "MB/s CPU", "peak MB", "x cat", "x grep", "found")


def main() -> None:
    """Write, read, tell."""
    parser = argparse.ArgumentParser(description="speed and memory of triage")
    parser.add_argument("forms", nargs="*", metavar="FORM", help=", ".join(FORMS))
    parser.add_argument("--size", type=int, default=1000, metavar="MB")
    parser.add_argument("--keep", type=Path, metavar="DIR")
    asked = parser.parse_args()
    tell(COLUMNS)
    with tempfile.TemporaryDirectory() as scratch:
        for form in asked.forms or FORMS:
            path = (asked.keep or Path(scratch)) / f"benchmark.{form}"
            write(path, FORMS[form], asked.size * MEGABYTE)
            tell(row(form, path))
            if not asked.keep:
                path.unlink()


def tell(cells: Iterable[str]) -> None:
    """A line of the table."""
    sys.stdout.write("".join(f"{cell:>11}" for cell in cells) + "\n")
    sys.stdout.flush()


def row(form: str, path: Path) -> tuple[str, ...]:
    """What is told of one form."""
    megabytes = path.stat().st_size / MEGABYTE
    cat, grep = (timed(words, path) for words in (("cat",), ("grep", "-c", "Traceback")))
    done = subprocess.run((sys.executable, "-c", _CHILD, str(path)), capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    seconds, entries = found["seconds"], found["entries"]
    rates = (megabytes / seconds, entries / seconds, megabytes / found["cpu"], found["peak"])
    ratios = (seconds / cat, seconds / grep)
    numbers = (f"{megabytes:.0f}", f"{entries}", *(f"{rate:.0f}" for rate in rates), *(f"{ratio:.1f}" for ratio in ratios))
    return (form, *numbers, " " + ", ".join(found["kinds"]))


def timed(words: tuple[str, ...], path: Path) -> float:
    """Seconds that a program takes to read the file."""
    begin = time.perf_counter()
    subprocess.run((*words, str(path)), stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - begin


def write(path: Path, writer: Callable[[JournalEntry], bytes], size: int) -> None:
    """The file: the start, the quiet part again and again until `size` is reached, the crash."""
    story = recorded("tp2_ddtree_shape")
    quiet = b"".join(map(writer, mixture(healthy(50_000, story[START - 1]))))
    with path.open("wb") as log:
        log.writelines(map(writer, story[:START]))
        while log.tell() < size:
            log.write(quiet)
        log.writelines(map(writer, story[START:]))


def mixture(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """Every thousandth one warns."""
    for number, entry in enumerate(entries):
        if number % 1000 == 999:
            yield entry._replace(message=f"[2026-11-29 18:38:20 TP0] WARNING: the queue holds {number} requests")
        else:
            yield entry


if __name__ == "__main__":
    main()
