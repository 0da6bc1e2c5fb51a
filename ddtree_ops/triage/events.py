"""Lines that tell the story without being a failure's own text: signals, kills, exits, what the service manager says.

SGLang's sentences are those of 0.5.13.post1 (`srt/utils/common.py`, `srt/managers/tokenizer_manager.py`,
`srt/utils/watchdog.py`) and of its older launch_server, the manager's those of systemd 252 (`src/core/service.c`).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple

from ddtree_ops.triage.blocks import systemd_words
from ddtree_ops.triage.lines import Line


class Sign(StrEnum):
    """What a line says; the value is the event's kind in the report."""

    SIGQUIT = "sigquit"
    SIGTERM = "sigterm"
    DRAINED = "drained"
    KILL_TREE = "kill_process_tree"
    CHILD_DIED = "child_died"
    RANK_DEAD = "rank_dead"
    DIAGNOSTICS = "crash_diagnostics"
    SHUTDOWN_WARNING = "shutdown_warning"
    STARTED = "unit_start"
    STOP_WANTED = "unit_stop_wanted"
    STOPPED = "unit_stop"
    STOPPED_CLEANLY = "unit_stopped_cleanly"
    EXITED = "main_process_exit"
    RESULT = "unit_result"
    OOM_KILL = "oom_kill"
    START_TIMEOUT = "start_timeout"
    RESTARTING = "unit_restart"


class Told(NamedTuple):
    """A recognised line: `match` holds the pattern's groups."""

    sign: Sign
    match: re.Match[str]


_SERVER: tuple[tuple[Sign, re.Pattern[str]], ...] = (
    (Sign.SIGQUIT, re.compile(r"Received sigquit from a child process|SIGQUIT received\.")),
    (Sign.SIGTERM, re.compile(r"(?:Signal )?SIGTERM received")),
    (Sign.DRAINED, re.compile(r"Gracefully exiting")),
    (Sign.KILL_TREE, re.compile(r"kill_process_tree called")),
    (
        Sign.CHILD_DIED,
        re.compile(r"Subprocess (?P<name>\S{1,200}) \(pid=(?P<pid>\d{1,10})\) crashed with exit code (?P<code>-?\d{1,9})\b"),
    ),
    (Sign.RANK_DEAD, re.compile(r"Rank (?P<rank>\d{1,9}) scheduler is dead|Exit code: (?P<code>-?\d{1,9})$")),
    (
        Sign.DIAGNOSTICS,
        re.compile(
            r"Pyspy failed(?: \(.{0,200}?--pid (?P<alive>\d{1,10})\))?"
            r"|All pyspy dump attempts failed|CUDA user-triggered coredump|CUDA coredump pipe not found"
            r"|Waiting [\d.]{1,20} seconds for CUDA coredumps|Sleeping \d{1,9} seconds before crash diagnostics|No live scheduler"
        ),
    ),
)
_SHUTDOWN_WARNING = re.compile(r"\[rank\d{1,9}\]:\[W.{0,200}destroy_process_group\(\) was not called")
_MANAGER: tuple[tuple[Sign, re.Pattern[str]], ...] = (
    (
        Sign.EXITED,
        re.compile(
            r"\S{1,255}: Main process exited, code=(?P<code>\w{1,20}), status=(?P<status>\d{1,4})\b(?:/(?P<name>[\w+/-]{1,30}))?"
        ),
    ),
    (Sign.RESULT, re.compile(r"\S{1,255}: Failed with result '(?P<result>[\w-]{1,40})'")),
    (Sign.OOM_KILL, re.compile(r"\S{1,255}: A process of this unit has been killed by the OOM killer")),
    (Sign.START_TIMEOUT, systemd_words.START_TIMEOUT),
    (Sign.RESTARTING, re.compile(r"\S{1,255}: Scheduled restart job")),
    (Sign.STARTED, re.compile(r"(?:Starting|Started) \S")),
    (Sign.STOP_WANTED, re.compile(r"Stopping \S")),
    (Sign.STOPPED, re.compile(r"Stopped \S")),
    (Sign.STOPPED_CLEANLY, re.compile(r"\S{1,255}: (?:Deactivated successfully|Succeeded)\.")),
)
_HINTS = (
    "SIGQUIT",
    "sigquit",
    "SIGTERM",
    "exiting",
    "kill_process_tree",
    "Subprocess",
    "is dead",
    "Exit code",
    "yspy",
    "coredump",
    "seconds",
    "scheduler",
)
#: What the lines have in them, as far as it doesn't also stand in the everyday ones (gate.py).
LITERALS = (
    "SIGQUIT",
    "sigquit",
    "SIGTERM",
    "Gracefully exiting",
    "kill_process_tree",
    "Subprocess ",
    "scheduler is dead",
    "Exit code: ",
    "yspy",
    "coredump",
    "crash diagnostics",
    "No live scheduler",
    "destroy_process_group",
    "Main process exited",
    "Failed with result",
    "killed by the OOM killer",
    " timed out.",
    "Scheduled restart job",
    "Starting ",
    "Started ",
    "Stopping ",
    "Stopped ",
    "Deactivated successfully",
    ": Succeeded.",
    "unreachable=0",
)
_FROM_MANAGER = re.compile(r"\S{1,250}\.service: ")


def read_event(line: Line, rest: str, *, dated: bool) -> Told | None:
    """What the line says, or None. `rest` is its text without prefix.

    What PID 1 says is taken from PID 1 only, where process ids are known; the server's sentences from dated records only:
    anything else could be quoted text.
    """
    pid = line.entry.pid
    if pid == 1 or (pid is None and not dated and _FROM_MANAGER.match(rest)):
        return _first(_MANAGER, rest)
    if dated:
        return _first(_SERVER, rest) if any(hint in rest for hint in _HINTS) else None
    found = _SHUTDOWN_WARNING.match(line.text) if line.text.startswith("[rank") else None
    return Told(Sign.SHUTDOWN_WARNING, found) if found else None


def _first(patterns: tuple[tuple[Sign, re.Pattern[str]], ...], text: str) -> Told | None:
    for sign, pattern in patterns:
        found = pattern.match(text)
        if found:
            return Told(sign, found)
    return None
