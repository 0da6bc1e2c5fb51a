"""What journalctl, dmesg, syslog, docker and kubernetes write before a line's text.

The forms of journalctl are those of its `-o short*` and `with-unit` (journalctl(1), systemd 252 and 255), dmesg's those
of util-linux (dmesg(1), --time-format), the containers' those of kubernetes' CRI log format (`TIME stdout F text`),
`kubectl logs --timestamps --prefix`, `docker logs --timestamps` and `docker compose logs`. `dmesg -x` and `talosctl dmesg`
put facility and level first; Jenkins' timestamper puts `[2026-04-02T03:04:05.123Z] ` or `03:04:05  ` before every line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ddtree_ops.triage.forms import times

#: The longest header that is looked for, in characters.
LIMIT = 400

KERNEL = "kernel"


class Header(NamedTuple):
    """What a header says; `width` is its length in characters. `partial`: the line goes on in the next one (CRI)."""

    width: int
    realtime_us: int | None = None
    monotonic_us: int | None = None
    hostname: str | None = None
    comm: str | None = None
    pid: int | None = None
    transport: str | None = None
    unit: str | None = None
    partial: bool = False


_CLOCK = r"(?P<clock>\d\d:\d\d:\d\d)"
_ZONE = r"(?P<zone>Z|[+-]\d\d:?\d\d)"
_ISO = re.compile(rf"(?P<date>\d{{4}}-\d\d-\d\d)T{_CLOCK}(?:(?P<point>[.,])(?P<fraction>\d{{1,9}}))?{_ZONE} ?")
_FULL = re.compile(
    rf"[A-Z][a-z]{{2}} (?P<date>\d{{4}}-\d\d-\d\d) {_CLOCK}(?:\.(?P<fraction>\d{{1,6}}))? (?P<zone>[A-Z+-][\w:+-]{{0,8}}) "
)
# the month in whatever language journalctl spoke: `Apr`, `Mär`, `avril`, `févr.`, `11月`
_SHORT = re.compile(rf"(?P<month>[^\W\d_]{{2,9}}\.?|\d{{1,2}}[月월]) (?P<day>[ \d]\d) {_CLOCK}(?:\.(?P<fraction>\d{{1,6}}))? ")
_UNIX = re.compile(r"(?P<seconds>\d{9,11})\.(?P<fraction>\d{6}) ")
_BOOT = re.compile(r"(?:<\d{1,3}>)?\[ {0,10}(?P<seconds>\d{1,10})\.(?P<fraction>\d{6})\](?:\[ {0,8}[CT]\d{1,8}\])? ?")
_HUMAN = re.compile(rf"\[[A-Z][a-z]{{2}} (?P<month>[A-Z][a-z]{{2}}) (?P<day>[ \d]\d) {_CLOCK} (?P<year>\d{{4}})\] ?")
_WRITER = re.compile(r"(?:(?P<host>[^\s:\[\]]{1,253}) )?(?P<name>[^\s\[\]]{1,64}?)(?:\[(?P<pid>\d{1,10})\])?:(?: |$)")
_WRITER_AFTER_BOOT = re.compile(
    r"(?P<host>[^\s:\[\]]{1,253}) (?P<name>[^\s\[\]]{1,64})(?:\[(?P<pid>\d{1,10})\]|(?<= kernel)):(?: |$)"
)
# without a host: short-monotonic --no-hostname, and what a program wrote to /dev/kmsg; of a crashed process the kernel itself
# begins with the name and the process id
_WRITER_ALONE = re.compile(
    r"(?P<name>kernel|[^\s\[\]:]{1,64}(?=\[))(?:\[(?P<pid>\d{1,10})\])?: "
    r"(?!segfault |general protection|trap |unhandled |vsyscall |bad frame |potentially unexpected fatal signal)"
)
_TIMELESS = re.compile(r"(?P<name>kernel|systemd)(?:\[(?P<pid>1)\])?: ")
_TIMELESS_OF_HOST = re.compile(r"(?P<host>[\w.-]{1,253}) (?P<name>systemd|audit)\[(?P<pid>\d{1,10})\]: ")
_LEVELLED = re.compile(
    r"(?:(?P<host>[\w.:-]{1,253}): )?(?P<facility>kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp"
    r"|local[0-7]) {0,4}: {0,8}(?:emerg|alert|crit|err|error|warn|warning|notice|info|debug) {0,8}: ?"
)
_CI_DATE = re.compile(rf"\[(?P<date>\d{{4}}-\d\d-\d\d)T{_CLOCK}(?:\.(?P<fraction>\d{{1,9}}))?(?P<zone>Z|[+-]\d\d:?\d\d)\]:? ?")
_CI_CLOCK = re.compile(
    r"\d\d:\d\d:\d\d(?:\.\d{3})? (?: |(?=(?:fatal|failed|ok|changed|skipping|TASK|PLAY)(?:: | )?\[|PLAY RECAP|\[ERROR\]))"
)
_CRI = re.compile(r"(?P<stream>stdout|stderr) (?P<tag>[FP])(?::\S{0,100})?(?: |$)")
_POD = re.compile(r"\[pod/(?P<pod>[a-z0-9.-]{1,253})/(?P<container>[a-z0-9.-]{1,253})\] ?")
# `gpu-1 | UNREACHABLE! => {` is what `ansible -m` prints of a host
_COMPOSE = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]{0,100}?[-_]\d{1,4})(?: {2,80}\| ?| \|(?! (?:UNREACHABLE!|FAILED|SUCCESS|CHANGED|SKIPPED)) ?)"
)
_UNIT = re.compile(r".+\.(?:service|scope|slice|socket|mount|timer)")
_NANOSECONDS = 9


def read_header(text: str, now_us: int | None = None) -> Header | None:
    """The header at the beginning of a line, or None; `now_us` gives times without a year theirs (times.py)."""
    first = text[:1]
    if first == "[":
        return _bracket(text, now_us)
    if first.isdigit():
        return _number(text) or _named_day(text, now_us) or _levelled(text, now_us) or _clock(text, now_us) or _compose(text)
    if first == "<":
        return _since_boot(text)
    if not first.isalpha():
        return None
    found = _named_day(text, now_us) or _compose(text)
    if found is None and ": " in text[:LIMIT]:
        found = _timeless(text) or _levelled(text, now_us)
    return found


def _number(text: str) -> Header | None:
    found = _ISO.match(text)
    if found:
        return _iso(text, found)
    found = _UNIX.match(text)
    if found is None:
        return None
    at = int(found["seconds"]) * times.SECOND + int(found["fraction"])
    return _written(text, found.end(), at, None)


def _iso(text: str, found: re.Match[str]) -> Header | None:
    at = times.instant(found["date"], found["clock"], found["fraction"], found["zone"])
    start = found.end()
    if found["point"] == ",":
        return _of_kernel_buffer(text, start, at, None)
    cri = _CRI.match(text, start)
    if cri:
        return Header(cri.end(), realtime_us=at, transport=cri["stream"], partial=cri["tag"] == "P")
    if found["zone"] != "Z" and len(found["fraction"] or "") < _NANOSECONDS:
        return _written(text, start, at, None)
    return Header(start, realtime_us=at) if found["fraction"] else None


def _named_day(text: str, now_us: int | None) -> Header | None:
    found = _SHORT.match(text)
    if found and times.month_of(found["month"]):
        at, order = times.yearless(found["month"], found["day"], found["clock"], found["fraction"], now_us)
        return _written(text, found.end(), at, order)
    found = _FULL.match(text)
    if found is None:
        return None
    return _written(text, found.end(), times.instant(found["date"], found["clock"], found["fraction"], found["zone"]), None)


def _written(text: str, start: int, at: int | None, monotonic: int | None, after: re.Pattern[str] = _WRITER) -> Header | None:
    """With the host, the program and its process id that follow a time; without them the time alone is no header."""
    found = after.match(text, start, start + LIMIT)
    if found is None:
        return None
    name, pid = found["name"], int(found["pid"]) if found["pid"] else None
    width, host = found.end(), found.groupdict().get("host")
    if name == KERNEL and pid is None:
        boot = _BOOT.match(text, width)  # rsyslog leaves the kernel's own time in
        width = boot.end() if boot else width
        return Header(width, at, _boot_us(boot) if boot else monotonic, host, KERNEL, None, KERNEL)
    if pid == 1:
        return Header(width, at, monotonic, host, "systemd", 1)
    if _UNIT.fullmatch(name):
        return Header(width, at, monotonic, host, None, pid, None, name)
    return Header(width, at, monotonic, host, name, pid)


def _bracket(text: str, now_us: int | None) -> Header | None:
    found = _POD.match(text)
    if found:
        return within(text, found.end(), found["pod"])
    found = _CI_DATE.match(text)
    if found:
        at = times.instant(found["date"], found["clock"], found["fraction"], found["zone"])
        return _around(text, found.end(), now_us, Header(found.end(), realtime_us=at))
    return _since_boot(text) or _human(text)


def _clock(text: str, now_us: int | None) -> Header | None:
    found = _CI_CLOCK.match(text)
    return _around(text, found.end(), now_us, Header(found.end())) if found else None


def _around(text: str, start: int, now_us: int | None, outer: Header) -> Header:
    """A header that stands before another one, which tells more."""
    inner = read_header(text[start:], now_us)
    if inner is None:
        return outer
    return inner._replace(
        width=start + inner.width,
        realtime_us=outer.realtime_us if inner.realtime_us is None else inner.realtime_us,
        hostname=inner.hostname or outer.hostname,
    )


def _levelled(text: str, now_us: int | None) -> Header | None:
    found = _LEVELLED.match(text)
    if found is None:
        return None
    inner = _around(text, found.end(), now_us, Header(found.end(), hostname=found["host"]))
    kernel = found["facility"] == "kern" and inner.comm is None and inner.pid is None
    return inner._replace(comm=KERNEL, transport=KERNEL) if kernel else inner


def _since_boot(text: str) -> Header | None:
    found = _BOOT.match(text)
    if found is None:
        return None
    at = _boot_us(found)
    written = _written(text, found.end(), None, at, _WRITER_AFTER_BOOT)
    return written or _of_kernel_buffer(text, found.end(), None, at)


def _of_kernel_buffer(text: str, start: int, at: int | None, monotonic: int | None) -> Header:
    """The kernel's own line, unless a program's name and process id say that somebody wrote into its buffer."""
    written = _written(text, start, at, monotonic, _WRITER_ALONE)
    return written or Header(start, realtime_us=at, monotonic_us=monotonic, comm=KERNEL, transport=KERNEL)


def _human(text: str) -> Header | None:
    found = _HUMAN.match(text)
    month = times.month_of(found["month"]) if found else None
    if found is None or month is None:
        return None
    at = times.instant(f"{found['year']}-{month}-{int(found['day']):02}", found["clock"], None, None)
    return _of_kernel_buffer(text, found.end(), at, None)


def _timeless(text: str) -> Header | None:
    found = _TIMELESS_OF_HOST.match(text) or _TIMELESS.match(text)
    if found is None or (found["name"] == KERNEL) == bool(found["pid"]):
        return None
    return timeless(found)


def timeless(found: re.Match[str]) -> Header:
    """Of a match with `name`, `pid`, and perhaps `host`."""
    kernel = found["name"] == KERNEL and not found["pid"]
    pid, host = int(found["pid"]) if found["pid"] else None, found.groupdict().get("host")
    comm = "systemd" if pid == 1 else found["name"]
    return Header(found.end(), hostname=host, comm=comm, pid=pid, transport=KERNEL if kernel else None)


def _compose(text: str) -> Header | None:
    found = _COMPOSE.match(text) if "|" in text[:200] else None
    return within(text, found.end(), found["name"]) if found else None


def within(text: str, start: int, name: str) -> Header:
    """A container's name, and the time that may follow it."""
    found = _ISO.match(text, start)
    if found is None or found["zone"] is None or not found["fraction"]:
        return Header(start, hostname=name)
    at = times.instant(found["date"], found["clock"], found["fraction"], found["zone"])
    return Header(found.end(), realtime_us=at, hostname=name)


def _boot_us(found: re.Match[str]) -> int:
    return int(found["seconds"]) * times.SECOND + int(found["fraction"])
