"""What the exporter costs beside a server with a long journal: run by hand.

    python -m benchmarks.exporter                  # 300,000 lines, five minutes
    python -m benchmarks.exporter --lines 50000 --seconds 60

A real journal file is written by systemd-journal-remote (Debian's package of that name): a start, a server that serves, and
the recorded crash of tp2_ddtree_shape. Then the real exporter runs over it, with a journalctl that reads this file, is
scraped every 15 s while the server goes on writing ten lines a second, and the crash comes at the end. Told are:

    first pass    seconds, CPU seconds and memory of the pass that reads the whole journal
    next pass     the same of one that goes on from there
    scrape        the slowest and the median answer of /metrics, those during the first pass included
    exporter      resident memory and CPU of the long-lived process, without and with its children
    page          the status page of 1,000 hosts (benchmarks/status_page.py)
    crash         seconds from the crash's last line to its count in /metrics
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ddtree_ops.triage.entry import JournalEntry
from tests.exporter.journal_story import UNIT, Story
from tests.exporter.real_journal import WRITER, writer
from tests.triage.written_forms import as_export

SCRAPE_SECONDS = 15.0
_ROOT = re.compile(r'^ddtree_ops_failures_total\{.*role="root".*\} ([1-9]\S*)$', re.MULTILINE)
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Write, run, scrape, tell."""
    parser = argparse.ArgumentParser(description="cost of the exporter beside a long journal")
    parser.add_argument("--lines", type=int, default=300_000)
    parser.add_argument("--seconds", type=int, default=300)
    asked = parser.parse_args()
    if WRITER is None:
        sys.exit("needs systemd-journal-remote")
    subprocess.run((sys.executable, "-m", "benchmarks.status_page"), check=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        story, live = Story(), writer(folder / "long.journal")
        begin = time.perf_counter()
        feed(live, start(story, asked.lines))
        wait_for(folder / "long.journal", story)
        tell("journal", f"{len(story.entries)} lines, written in {time.perf_counter() - begin:.1f} s")
        surroundings = programs(folder)
        for name in ("first pass", "next pass"):
            tell(name, timed_pass(folder / "alone", surroundings))
        run(folder, surroundings, live, story, asked.seconds)


def tell(what: str, numbers: str) -> None:
    """A line of the answer."""
    sys.stdout.write(f"{what:>12}  {numbers}\n")
    sys.stdout.flush()


def start(story: Story, lines: int) -> Iterator[JournalEntry]:
    """The recorded start, and the server's lines after it; made as they are asked for."""
    story.begin("dflash_ok", "SIGTERM received")
    story.serve(lines - len(story.entries))
    yield from story.entries


def feed(live: subprocess.Popen[bytes], entries: Iterator[JournalEntry]) -> None:
    """Into the journal, in pieces."""
    assert live.stdin is not None  # noqa: S101
    while piece := list(islice(entries, 1000)):
        live.stdin.write(b"".join(map(as_export, piece)))
    live.stdin.flush()


def wait_for(journal: Path, story: Story) -> None:
    """Until the last line is in the file."""
    last = f"__REALTIME_TIMESTAMP={story.entries[-1].realtime_us}".encode()
    while True:
        argv = ("journalctl", f"--file={journal.parent}/*.journal", "--output=export", "--output-fields=_PID", "--lines=1")
        if last in subprocess.run(argv, capture_output=True, check=False).stdout:
            return
        time.sleep(0.2)


def programs(folder: Path) -> dict[str, str]:
    """An environment in which journalctl reads the file, and systemctl knows one unit."""
    there = folder / "bin"
    there.mkdir()
    scripts = {
        "journalctl": f'exec /usr/bin/journalctl "--file={folder}/*.journal" "$@"\n',
        "systemctl": f'case "$1" in list-units) echo "{UNIT} loaded active running x";; *) exit 1;; esac\n',
    }
    for name, text in scripts.items():
        (there / name).write_text("#!/bin/sh\n" + text)
        (there / name).chmod(0o755)
    return {**os.environ, "PATH": f"{there}:{os.environ['PATH']}"}


def timed_pass(state: Path, surroundings: dict[str, str]) -> str:
    """One pass alone."""
    state.mkdir(exist_ok=True)
    words = ("-P", "-m", "ddtree_ops.exporter.passes", "--state", str(state), "--unit", UNIT)
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen((sys.executable, *words), env=surroundings)
    most = 0.0
    while process.poll() is None:
        most = max(most, memory(process.pid, "VmHWM"))
        time.sleep(0.01)
    seconds = time.perf_counter() - begin
    told = json.loads((state / "journal-30000.json").read_text())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{seconds:.2f} s, {cpu:.2f} s CPU with journalctl's, {most:.0f} MB, {told['lines']} lines, exit {process.returncode}"


def run(folder: Path, surroundings: dict[str, str], live: subprocess.Popen[bytes], story: Story, seconds: int) -> None:
    """The exporter itself."""
    port = free_port()
    state = folder / "state"
    state.mkdir()
    words = ("exporter", "--listen", f"127.0.0.1:{port}", "--state", str(state))
    process = subprocess.Popen((str(Path(sys.executable).with_name("ddtree-ops")), *words), env=surroundings)
    try:
        took = scraped(process.pid, port, live, story, seconds)
        tell("scrape", f"median {statistics.median(took) * 1000:.1f} ms, slowest {max(took) * 1000:.1f} ms of {len(took)}")
        crash(port, live, story)
    finally:
        process.terminate()
        process.wait()


def scraped(pid: int, port: int, live: subprocess.Popen[bytes], story: Story, seconds: int) -> list[float]:
    """Answers of /metrics in seconds: closely at first, while the first pass runs, then as Prometheus asks."""
    took: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < 20:
        took += [one for one in (answer(port)[0],) if one is not None]
        time.sleep(0.5)
    own, children = cpu_of(pid)
    began, due = time.perf_counter(), time.perf_counter()
    while time.perf_counter() - began < seconds:
        count = len(story.entries)
        story.serve(10)
        feed(live, iter(story.entries[count:]))
        if time.perf_counter() >= due:
            due += SCRAPE_SECONDS
            took += [one for one in (answer(port)[0],) if one is not None]
        time.sleep(1.0)
    passed = time.perf_counter() - began
    own_then, children_then = cpu_of(pid)
    share = (100 * (own_then - own) / passed, 100 * (children_then - children) / passed)
    tell("exporter", f"{memory(pid):.1f} MB, {share[0]:.2f} % of a core, {share[1]:.2f} % its ended children")
    return took


def crash(port: int, live: subprocess.Popen[bytes], story: Story) -> None:
    """How long until a crash is told."""
    count = len(story.entries)
    story.begin("tp2_ddtree_shape")
    late = int(time.time() * 1e6) - (story.entries[-1].realtime_us or 0)
    story.entries[count:] = [one._replace(realtime_us=(one.realtime_us or 0) + late) for one in story.entries[count:]]
    feed(live, iter(story.entries[count:]))
    began = time.perf_counter()
    while time.perf_counter() - began < 60:
        if _ROOT.search(answer(port)[1]):
            tell("crash", f"{time.perf_counter() - began:.2f} s from its last line to its count")
            return
        time.sleep(0.1)
    tell("crash", "not seen within a minute")


def answer(port: int) -> tuple[float | None, str]:
    """Seconds and text of a scrape; None while nobody listens."""
    begin = time.perf_counter()
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            return time.perf_counter() - begin, response.read().decode()
    except OSError:
        return None, ""


def cpu_of(pid: int) -> tuple[float, float]:
    """CPU seconds of a process, and of its children that have ended (proc(5), stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS, (int(fields[13]) + int(fields[14])) / _TICKS


def memory(pid: int, what: str = "VmRSS") -> float:
    """Resident memory in MB (proc(5), status)."""
    found = re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        number: int = one.getsockname()[1]
        return number


if __name__ == "__main__":
    main()
