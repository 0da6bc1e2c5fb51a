"""The lock of a host: one deploy, rollback, start, stop or restart at a time.

    python3 -c PROGRAM '{"user": ..., "controller": ..., "pid": ..., "command": ..., "token": ..., "break": ..., "again": ...}'

The controller runs it over SSH and it lives as long as that channel: the end of its input, or no sign of life for a while (a
laptop that vanished says no goodbye), ends it, and flock(2) makes the kernel free the lock with it, however it ends. A controller
that is still there comes back with "again": it has the lock again if nobody signed the file since, and else hears who did.
One file without imports of ours: it is sent before anything is there.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import stat
import sys
import threading
import time
from contextlib import suppress
from typing import Any

SCHEMA = "ddtree-ops/lock/v1"
AUDIT_SCHEMA = "ddtree-ops/audit/v1"
AUDIT_BYTES = 4 * 1024 * 1024  # some thousand attempts
STATE = "/var/lib/ddtree"
SILENCE_SECONDS = 30.0  # the controller gives a sign of life every 5 s
BUSY_SECONDS = 0.3  # whoever only looks whether it is held holds it for microseconds
ENDING_SECONDS = 5.0
LOCKED = 9
TERMINATED = 128 + signal.SIGTERM
LONGEST_LINE = 1024 * 1024


def open_lock(path: str) -> int:
    """A descriptor to lock. Raises OSError."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)  # noqa: PTH103, PTH120
    return open_regular(path, os.O_RDWR | os.O_CREAT)


def open_regular(path: str, flags: int) -> int:
    """A descriptor of a regular file; whatever else lies there is neither waited for nor read. Raises OSError."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except IsADirectoryError:
        raise OSError(f"{path} is no regular file, remove it") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file, remove it")
    return descriptor


def is_at(path: str, descriptor: int) -> bool:
    """Whether the file is still the one at this path: whoever removes or replaces it lets a second one in."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))  # noqa: PTH116
    except OSError:
        return False


def parse(data: bytes | str) -> dict[str, Any] | None:
    """A JSON object, or None for anything else: every file here may be torn by a power cut, or be somebody else's."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def take(descriptor: int, seconds: float | None) -> bool:
    """Try for so long, None: until it is free; whether we have it."""
    if seconds is None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return True
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.02)


def holder_of(descriptor: int) -> dict[str, Any]:
    """What the file says of its holder; empty if it says nothing."""
    return parse(os.pread(descriptor, 65536, 0)) or {}


def sign(descriptor: int, holder: dict[str, Any]) -> dict[str, Any]:
    """Write down who holds it."""
    full = {**holder, "schema": SCHEMA, "since": now(), "holder_pid": os.getpid()}
    data = json.dumps(full).encode()
    os.pwrite(descriptor, data, 0)  # before the truncation: killed between the two, it must not be empty
    os.ftruncate(descriptor, len(data))
    return full


def is_lock_program(pid: int) -> bool:
    """Whether a process is this program: nothing else is ever ended to free a lock."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return SCHEMA.encode() in file.read()
    except OSError:
        return False


def take_over(descriptor: int, wanted: dict[str, Any], log: Log) -> bool:
    """From our own former channel (same token), or by force if that is asked for; whether we have it now."""
    holder = holder_of(descriptor)
    ours = bool(wanted["token"]) and holder.get("token") == wanted["token"]
    pid = holder.get("holder_pid")
    if not (ours or wanted.get("break")) or not isinstance(pid, int) or not take_from(descriptor, pid):
        return False
    if not ours:
        log.add("lock broken", holder=who_of(holder))
    return True


def take_from(descriptor: int, pid: int) -> bool:
    """End another lock program; whether we have the lock now. One that stands still (SIGSTOP) hears of SIGKILL alone."""
    if not is_lock_program(pid):
        return False
    with suppress(OSError):
        process = os.pidfd_open(pid)  # whatever becomes of the number meanwhile
        try:
            for number in (signal.SIGTERM, signal.SIGKILL) if is_lock_program(pid) else ():
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(process, number)
                if take(descriptor, ENDING_SECONDS):
                    return True
        finally:
            os.close(process)
    return False


def lockers(descriptor: int) -> list[int]:
    """Who holds it, as the kernel says (proc_locks(5)); a file system that numbers its devices otherwise has none there."""
    about = os.fstat(descriptor)
    file = f"{os.major(about.st_dev):02x}:{os.minor(about.st_dev):02x}:{about.st_ino}"
    with suppress(OSError), open("/proc/locks", encoding="ascii", errors="replace") as locks:  # noqa: PTH123
        fields = [line.split() for line in locks]
        return [int(one[4]) for one in fields if one[1:2] == ["FLOCK"] and one[5:6] == [file] and one[4].isdigit()]
    return []


def refusal(descriptor: int, held: bool) -> dict[str, Any]:
    """Who has it, or had it since we did; `by` is the process that has it. The file may be of one who is gone, or anything."""
    last, pids = holder_of(descriptor), [] if held else lockers(descriptor)
    signed = last.get("holder_pid")
    pid = signed if signed in pids or not pids else pids[0]
    by = {"pid": pid, "name": name_of(pid)} if isinstance(pid, int) and not held else None
    return {"locked": False, "holder": last if pid == signed else {}, "held": not held, "by": by}


def who_of(document: dict[str, Any]) -> dict[str, Any]:
    """The part that says who somebody is."""
    return {key: document.get(key) for key in ("user", "controller", "pid", "command")}


def audit(path: str, record: dict[str, Any]) -> None:
    """Add one line to the host's audit log, on disk before this returns. Raises OSError."""
    descriptor = open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"  # a power cut, or a full disk, in the line before
        line = json.dumps({"schema": AUDIT_SCHEMA, "at": now(), **record}).encode() + b"\n"
        os.write(descriptor, (b"\n" if torn else b"") + line)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def shorten(path: str) -> None:
    """With the lock held: a long audit log begins anew, and the one before is kept."""
    with suppress(OSError):
        if os.stat(path).st_size > AUDIT_BYTES:  # noqa: PTH116
            os.replace(path, f"{path}.1")  # noqa: PTH105


def now() -> str:
    """UTC in RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Log:
    """The host's audit log, as one controller writes in it."""

    def __init__(self, path: str, who: dict[str, Any]) -> None:
        self._path = path
        self._who = who

    def add(self, event: str, **fields: Any) -> bool:
        """One line, and whether it is on disk; a full one must not keep a host locked."""
        with suppress(OSError):
            audit(self._path, {**self._who, "event": event, **fields})
            return True
        return False


def tell(document: dict[str, Any]) -> None:
    """One line to the controller, if it still listens."""
    with suppress(OSError):
        os.write(1, json.dumps(document).encode() + b"\n")


def end_at_signal(log: Log) -> None:
    """SIGTERM ends this program: that of another lock program, which takes over, and anybody's, who is then written down."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_at_signal, args=(log,), daemon=True).start()


def _end_at_signal(log: Log) -> None:
    sender = signal.sigwaitinfo({signal.SIGTERM}).si_pid
    if not is_lock_program(sender):
        log.add("controller lost", why=f"its program here was ended by process {sender} ({name_of(sender)})")
    os._exit(TERMINATED)


def name_of(pid: int) -> str:
    """A process by its name (proc_pid_comm(5)); arguments may hold secrets. 0 is one outside of a container."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().strip()
    except OSError:
        return "gone, or not of this container"


def hold(log: Log, silence: float, path: str, descriptor: int) -> None:
    """Until the controller says how it ended (one JSON object on a line), or is gone, or the lock's file is."""
    pending = b""
    while True:
        ready = select.select((0,), (), (), silence)[0]
        data = os.read(0, 65536) if ready else b""
        if not data:
            log.add("controller lost", why="its connection ended" if ready else f"no sign of life for {silence:g} s")
            return
        if not is_at(path, descriptor):
            log.add("controller lost", why=f"{path} was removed or replaced")
            return
        *lines, pending = (pending[-LONGEST_LINE:] + data).split(b"\n")
        for record in filter(None, map(parse, lines)):
            with suppress(TypeError):  # a key that is no field
                tell({"ended": True, "recorded": log.add(**{"event": "ended", **record})})
                return


def main(argument: str) -> int:
    """Exit code 9: somebody else holds it, or held it since we did."""
    wanted = json.loads(argument)
    state, who = wanted.get("state", STATE), who_of(wanted)
    path, log = f"{state}/lock", Log(f"{state}/audit.jsonl", who)
    try:
        descriptor = open_lock(path)
    except OSError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    held = take(descriptor, BUSY_SECONDS) or take_over(descriptor, wanted, log)
    last = holder_of(descriptor)
    known = last.get("token") == wanted["token"]
    if not held or (wanted.get("again") and not known):
        log.add("locked out", holder=who_of(last))
        tell(refusal(descriptor, held))
        return LOCKED
    end_at_signal(log)
    sign(descriptor, {**who, "token": wanted["token"]})
    if not known:
        shorten(f"{state}/audit.jsonl")
        log.add("begun")
    elif wanted.get("again"):
        log.add("controller back")
    tell({"locked": True})
    hold(log, wanted.get("silence", SILENCE_SECONDS), path, descriptor)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
