"""What the service manager says of a unit, as patterns; the words are those of systemd 239 to 257.

Sources: src/core/service.c, src/core/execute.c and src/core/exec-invoke.c, src/core/job.c, src/oom/oomd-util.c; the exit
codes of systemd's own steps are in systemd.exec(5), "Process Exit Codes".
"""

from __future__ import annotations

import re

from ddtree_ops.triage.entry import JournalEntry
from ddtree_ops.triage.lines import Line, Prefix

Pattern = re.Pattern[str]
Match = re.Match[str]

_HEADER = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}(?:\.\d{1,6})? |[\dT:,.+Z-]{19,40} )(?:\S{1,253} )?(?:systemd\[1\]"
    r"|\([^)]{1,16}\)\[\d{1,10}\]): "
)
_BARE_HEADER = re.compile(r"systemd\[1\]: |systemd: ")

#: Of a line.
LENGTH = 8192

UNIT = r"(?P<unit>[\w@:.\\-]{1,255}\.(?:service|scope|socket|mount|timer)):? "

#: A step before the program runs failed; the forked child says so.
STEP = re.compile(UNIT + r"Failed at step (?P<step>[A-Z_]{2,30}) spawning (?P<path>.{1,4096}): (?P<error>[^:]{1,200})$")
#: Words that go before it, and that say more.
DETAIL = re.compile(
    UNIT + r"(?P<said>(?:Failed|Unable) to (?:locate|execute|determine|set up|mount|load|run|attach|drop|change|open|apply|"
    r"connect|create|adjust|spawn|allocate|prepare|find)\b.{0,2000}"
    r"|Changing to the requested working directory failed: .{0,500}"
    r"|(?:Neither a valid executable name nor an absolute path|Service has no ExecStart=).{0,500})"
)
EXITED = re.compile(
    UNIT + r"(?P<who>[Mm]ain|[Cc]ontrol|[Mm]ount) process exited, code=(?P<code>\w{1,20}),? status=(?P<status>\d{1,4})"
    r"(?:/(?P<name>[\w+/-]{1,30}))?"
)
#: A unit that this one needs failed, so it was not even begun (src/core/job.c).
DEPENDENCY = re.compile(r"(?:[\w@:.\\-]{1,255}: )?Job (?P<unit>[\w@:.\\-]{1,250}\.service)/start failed with result 'dependency'")
START_TIMEOUT = re.compile(UNIT + r"(?:[Ss]tart|start-pre|start-post|State 'start[\w-]{0,10}') (?:operation )?timed out\.")
STOP_TIMEOUT = re.compile(UNIT + r"(?:State '(?:stop|final)[\w-]{0,20}' timed out|[Ss]topping timed out)")
ASKED = re.compile(
    UNIT + r"Sent signal SIG(?P<signal>[A-Z0-9]{2,10}) to main process (?P<pid>\d{1,10}) .{0,80}?on client request"
)
JOB = re.compile(
    r"Job for (?P<unit>[\w@:.\\-]{1,255}) failed because (?P<why>a timeout was exceeded"
    r"|start of the service was attempted too often)"
)
WATCHDOG = re.compile(UNIT + r"[Ww]atchdog timeout(?: \(limit (?P<limit>[^)]{1,40})\))?!")
TOO_QUICK = re.compile(UNIT + r"Start request repeated too quickly")
COUNTER = re.compile(UNIT + r"Scheduled restart job, restart counter is at (?P<count>\d{1,9})")
#: `systemctl status` pasted into a log.
STATUS = re.compile(
    r"[ \u25cf*]{0,20}(?:Process|Main PID): \d{1,10} (?:ExecStart\w{0,4}=.{1,2000} )?\(code=exited, status="
    r"(?P<status>2\d\d)/(?P<name>[A-Z_]{2,30})\)"
)
RESULT = re.compile(UNIT + r"Failed with result '(?P<result>[\w-]{1,40})'")
STARTING = re.compile(r"(?P<verb>Starting|Started|Stopping|Stopped) (?:(?P<unit>[\w@:.\\-]{1,255}\.service)\b)?")
NOT_FOUND = re.compile(
    r"(?:Failed to (?:start|restart|enable|load unit)[^:]{0,255}: |" + UNIT + r"|Failed to load unit file[^:]{0,255}: )?"
    r"Unit (?P<name>[\w@:.\\-]{1,255}) (?:not found|has a bad unit file setting|is masked|could not be found)\.?"
)
#: SELinux's and AppArmor's denials, from the kernel or from auditd.
DENIED = re.compile(
    r"(?:audit.{0,80}?|.{0,120}?)\bavc: {1,2}denied {1,2}\{ [^}]{0,80}?\b(?:execute|execute_no_trans|entrypoint|open|read"
    r"|map)\b[^}]{0,80}\} for "
    r"|SELinux is preventing \S{0,200}systemd from (?:execute|open|read|map)\w{0,20} access "
    r"|.{0,160}?apparmor=.?DENIED.? operation=.?(?:exec|change_onexec)\b"
)
_DENIED_FILE = re.compile(r"\b(?:path|name)=\"([^\"]{1,1000})\"")
_TOO_QUICK_219 = re.compile(r"start request repeated too quickly for (?P<unit>[\w@:.\\-]{1,255})")
_WRITERS = ("(", "systemd", "audit", "kernel", "setroubleshoot")
PERMISSIVE = re.compile(r"\bpermissive=1\b")


_OWN_CODES = range(200, 246)  # systemd.exec(5): systemd's steps between fork and exec


def own_step(found: Match) -> bool:
    """Whether a match of `EXITED` is the end of a child in one of systemd's own steps: it names the step."""
    name = found["name"] or ""
    return found["code"] == "exited" and int(found["status"]) in _OWN_CODES and name.isupper() and name != "FAILURE"


def before_exec(denial: str) -> bool:
    """Whether a denial hit systemd's child before it became the program: its name stands in parentheses then."""
    return "(" in denial.partition("comm=")[2][:3] or "is preventing" in denial


def denied_program(denial: str) -> tuple[str, str] | None:
    """Who denied a program that runs already to run which other one; None if the line is no such denial."""
    if not DENIED.match(denial) or before_exec(denial):
        return None
    found = _DENIED_FILE.search(denial)
    return ("SELinux" if "avc:" in denial else "AppArmor", found[1]) if found else None


def may_be_manager(entry: JournalEntry) -> bool:
    """Whether PID 1, a child of it, or who reports denials may have written it."""
    comm = entry.comm
    return entry.pid in (None, 1) or comm is None or comm.startswith(_WRITERS) or entry.transport == "audit"


def _of_today(said: str) -> str:
    """The words of systemd 219 in today's."""
    found = _TOO_QUICK_219.match(said)
    return f"{found['unit']}: Start request repeated too quickly." if found else said


def manager_words(line: Line, prefix: Prefix) -> str | None:
    """What PID 1 says, or a child of it that has not become the unit's program yet; None if neither speaks here."""
    entry = line.entry
    if prefix.dated or line.progress:
        return None
    if entry.pid is not None:
        # a child that ends at once is gone before journald can look up its name
        ours = entry.pid == 1 or entry.comm in (None, "systemd", "systemd-executor") or entry.comm.startswith("(")
        return _of_today(line.text[:LENGTH]) if ours else None
    if entry.transport is not None or entry.comm not in (None, "systemd"):
        return None
    text = line.text[:LENGTH]
    found = _HEADER.match(text) or _BARE_HEADER.match(text)
    return _of_today(text[found.end() :] if found else text)
