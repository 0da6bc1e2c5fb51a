"""What loggers and launchers put before every line: who speaks, and since when it is a record of its own.

Shapes, with where they come from:

- `[2026-04-02 03:04:05 DP0 TP3] `: SGLang (srt/utils/common.py, configure_logger); its multimodal server leaves out the year
- `[rank3]: `: torch's excepthook (torch/distributed/distributed_c10d.py); `rank3: ` is what older ones wrote
- `[1,3]<stderr>: `: mpirun --tag-output; `[default3]:`: torchrun --tee (torch/distributed/elastic/multiprocessing/tail_log.py)
- `(Worker_TP3 pid=2000) `: vLLM (utils/system_utils.py, decorate_logs); `(f pid=1, ip=10.0.0.1) `: ray (_private/worker.py),
  which ends a line that it prints once for many workers with ` [repeated 7x across cluster]`
- `ERROR 04-02 03:04:05 [core.py:1101] `: vLLM's logger, without the first bracket before 0.9
- `[04/02/2026-03:04:05] [TRT-LLM] [RANK 3] [E] `: TensorRT-LLM (logger.py)
- `2026-04-02 03:04:05 | ERROR | stderr | `: FastChat and loguru; `2026-04-02 03:04:05,123 - name - ERROR - `: Python's logging
- `0|sglang   | `: `pm2 logs`

`[2026-04-02 03:04:05] host:41:57 [0] `: NCCL from 2.26 on dates its warnings itself (NCCL_DEBUG_TIMESTAMP_FORMAT): no
record of SGLang's, though the bracket is the same, and its date is left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_SHAPES_LIMIT = 5  # one may stand before another: mpirun's before torch's before a logger's
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)"
_DATE = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
_RANKS = r"(?P<ranks>(?: (?:[A-Z]{2,5}_)?[A-Z]{2,3}\d{1,6}){0,8})"

_SGLANG = re.compile(rf"\[(?:\d{{4}}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?{_RANKS}\](?: |$)")
_NCCL = re.compile(r"\S{1,255}?:\d{1,10}:\d{1,10} \[\d{1,4}\] ")  # debug.cc: host, process, thread, device
_LINEWISE = {
    "[": re.compile(
        r"\[(?P<torch>rank\d{1,9})\]: ?"
        r"|\[\d{1,9},(?P<mpi>\d{1,9})\]<std(?:err|out)>: ?"
        r"|\[default(?P<elastic>\d{1,9})\]: ?"
        r"|\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[TRT-LLM\](?: \[RANK (?P<trt>\d{1,9})\])? \[[A-Z]\](?: |$)"
        rf"|\[{_LEVEL} {{0,8}}\| [\w. -]{{1,60}}\]: ?(?:\[TRT-LLM\] \[[A-Z]\](?: |$))?"
    ),
    "(": re.compile(
        r"\((?:(?P<name>[\w.:#-]{1,100}) )?(?:rank=(?P<rank>\d{1,9}) )?pid=(?P<pid>\d{1,10})(?:, ip=(?P<host>[\w.:-]{1,64}))?\)"
        r"(?: |$)(?:\[repeated \d{1,9}x across cluster\] ?)?"
    ),
    "r": re.compile(r"(?P<torch>rank\d{1,9}): ?"),
    "level": re.compile(rf"{_LEVEL} \d\d-\d\d \d\d:\d\d:\d\d \[?[\w./-]{{1,200}}:\d{{1,9}}\](?: |$)"),
    "date": re.compile(
        r"\d{1,3}\|[\w.-]{1,60} {0,60}\|(?: |$)"
        rf"|{_DATE} \| {_LEVEL} {{0,8}}\| [\w.<>-]{{1,100}}(?::[\w.<>-]{{1,100}}:\d{{1,9}} - ?| \| ?|$)"
        rf"|{_DATE}(?: - [\w.-]{{1,100}}){{0,2}} - {_LEVEL}(?: - | -$|$)"
        rf"|{_DATE}(?: \[?[\w.-]{{1,100}}\]?){{0,1}} \[?{_LEVEL}\]?(?: - | -$|: |:$| |$)"
    ),
}
_OF_NAME = re.compile(r"(?<![A-Za-z])(?:TP|DP|PP|EP|CP)\d{1,9}")
_REPEATED = re.compile(r" \[repeated \d{1,9}x across cluster\](?: \(Ray deduplicates logs[^\n]{0,400})?$")
_NUMBERS = re.compile(r"\d+")


class Prefix(NamedTuple):
    """What stood before a line's text.

    `dated`: it begins a log record of SGLang's. `rank`: `TP3`, `DP0 TP2`, `rank3` or None. `rest`: the text. `pid`, `host`:
    of the process that spoke, where the prefix names it. `stamp`: the prefix as it stood there, of whatever kind.
    `torn`: the prefix of another process that stood before it, whose own text follows on the next line.
    """

    dated: bool
    rank: str | None
    rest: str
    pid: int | None = None
    host: str | None = None
    stamp: str = ""
    torn: str = ""

    @property
    def leading(self) -> bool:
        """True for rank 0 of everything and without a rank: the lines that tell of the server as a whole."""
        return self.rank is None or not any(map(int, _NUMBERS.findall(self.rank)))

    @property
    def speaker(self) -> tuple[int | None, str | None, str | None]:
        """Who spoke, as far as the prefix tells: process and host, else the rank."""
        return (self.pid, self.host, None) if self.pid is not None else (None, None, self.rank)


def is_record(text: str) -> bool:
    """Whether the text begins as a log record of SGLang's."""
    found = _SGLANG.match(text) if text.startswith("[") else None
    return found is not None and not _is_nccl(text, found)


def read_prefix(text: str) -> Prefix:
    """Split all known prefixes from a line."""
    start, own, rank, pid, host = 0, 0, None, None, None
    for _ in range(_SHAPES_LIMIT):
        if text.startswith("[", start):
            found = _SGLANG.match(text, start)
            if found and _is_nccl(text, found):
                return Prefix(False, rank, text[found.end() :], pid, host, text[own:start], text[:own])
            if found:
                stamp = text[own : found.end()]
                return Prefix(True, found["ranks"].strip() or rank, text[found.end() :], pid, host, stamp, text[:own])
        found = _linewise(text, start)
        if not found:
            break
        named = found.groupdict()
        if named.get("pid"):
            if pid is not None:  # two processes wrote at the same time: the text is the latter's
                own, rank = start, None
            pid, host = int(named["pid"]), named["host"]
        start = found.end()
        rank = _rank(named) or rank
    rest = text[start:]
    if pid is not None and rest.endswith(("cluster]", ")")):
        rest = _REPEATED.sub("", rest)
    return Prefix(False, rank, rest, pid, host, text[own:start], text[:own])


def _is_nccl(text: str, found: re.Match[str]) -> bool:
    return not found["ranks"] and _NCCL.match(text, found.end()) is not None


def _linewise(text: str, start: int) -> re.Match[str] | None:
    first = text[start : start + 1]
    if first in _LINEWISE:
        return _LINEWISE[first].match(text, start)
    if first.isdecimal():
        return _LINEWISE["date"].match(text, start)
    return _LINEWISE["level"].match(text, start) if first and first in "DIWECF" else None


def _rank(named: dict[str, str | None]) -> str | None:
    if named.get("torch"):
        return named["torch"]
    number = next((named[key] for key in ("mpi", "elastic", "trt", "rank") if named.get(key)), None)
    if number:
        return f"rank{number}"
    return " ".join(_OF_NAME.findall(named.get("name") or "")) or None
