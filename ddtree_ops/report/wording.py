"""Words that the text forms share."""

from __future__ import annotations

from ddtree_ops.report.safe_text import one_line, rfc3339
from ddtree_ops.triage.block import Device, Frame, ParsedException, Relation, Thread
from ddtree_ops.triage.model import NOTES, Confidence, Event, Failure, Verdict
from ddtree_ops.triage.origins import UNTRACED
from ddtree_ops.triage.source_windows import SOURCE_DIFFERS

VERDICTS = {
    Verdict.NO_FAILURE: "No failure found",
    Verdict.INCONCLUSIVE: "Nothing to judge by",
    Verdict.FAILURE: "Failure",
}
#: What stands between an exception and the one before it.
RELATIONS = {
    Relation.CAUSE: "which directly caused:",
    Relation.CONTEXT: "while that was handled:",
    Relation.GROUP: "in the group:",
}
NO_CAUSE = "not known; nothing is guessed here"
#: An unknown failure's fix: what makes it known one day.
KEEP = "Keep the report: its fingerprint tells whether the next failure is this one again (ddtree-ops triage --compare A B)."
_NOTED = (*NOTES, SOURCE_DIFFERS, UNTRACED)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_RANKS_NAMED = 8


def verdict_line(verdict: Verdict, host: str | None, unit: str | None, lines_read: int) -> str:
    """One line on the whole."""
    where = "".join(f" {word} {one_line(name)}" for word, name in (("of", unit), ("on", host)) if name)
    entries = "entry" if lines_read == 1 else "entries"
    return f"{VERDICTS[verdict]} in {lines_read:,} journal {entries}{where}"


def notes(events: tuple[Event, ...]) -> list[str]:
    """What has to be known of the input: what of it couldn't be read, was not there, or isn't what ran."""
    return [one_line(event.text) for event in events if event.kind in _NOTED]


def ranks(failure: Failure) -> list[str]:
    """The ranks it happened on, or process ids, each once."""
    names = [one_line(item.rank or (f"pid {item.pid}" if item.pid else "")) for item in failure.processes]
    return list(dict.fromkeys(name for name in names if name))


def place(failure: Failure) -> str:
    """On which ranks or processes, and when in the server's life: `on TP0, TP1 during warmup`."""
    names = ranks(failure)
    more = f" and {len(names) - _RANKS_NAMED} more" if len(names) > _RANKS_NAMED else ""
    shown = ", ".join(names[:_RANKS_NAMED]) + more
    phase = "" if failure.phase.value == "unknown" else f"during {failure.phase.value}"
    return " ".join(part for part in (f"on {shown}" if shown else "", phase) if part)


def short_file(frame: Frame) -> str:
    """A frame's file without the installation's path."""
    file = one_line(frame.file)
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in file:
            return file.rpartition(mark)[2]
    return file


def location(frame: Frame, width: int | None = None) -> str:
    """`sglang/srt/managers/scheduler.py:1436 in run_batch`, with how often it was left out in a recursion.

    With a `width` in characters that it would pass, the file's outer folders give way.
    """
    again = f" (and {frame.repeated} more times)" if frame.repeated else ""
    line = f":{frame.line}" if frame.line is not None else ""
    file, rest = short_file(frame), f"{line} in {one_line(frame.function or '?')}{again}"
    while width is not None and len(file) + len(rest) > width and "/" in file.removeprefix("…/"):
        file = "…/" + file.removeprefix("…/").partition("/")[2]
    return file + rest


def headline(exception: ParsedException) -> str:
    """Type and message as Python ends a traceback with them."""
    return f"{exception.type}: {exception.message}" if exception.message else exception.type


def cause(failure: Failure) -> str:
    """The cause and how sure it is."""
    if not failure.cause:
        return NO_CAUSE
    return failure.cause if failure.confidence is Confidence.CERTAIN else f"{failure.cause} ({failure.confidence.value})"


def fixes(failure: Failure) -> tuple[str, ...]:
    """What to do; for a failure without a known fix, what to keep."""
    return failure.fixes if failure.fixes or failure.cause else (KEEP,)


def minor(failure: Failure) -> str:
    """A failure that isn't the root, in one line."""
    where = f" {place(failure)}" if place(failure) else ""
    return f"{failure.role.value}: {failure.kind.value}{where}: {failure.title} ({failure.count}x)"


def seen(failure: Failure) -> tuple[str, str]:
    """When and how often, and the name to find it by."""
    first, last = rfc3339(failure.first_us), rfc3339(failure.last_us)
    until = f" to {last[11:]}" if first and last and last > first and last[:10] == first[:10] else ""
    return f"{first or 'unknown time'}{until}, {failure.count}x", f"fingerprint {failure.fingerprint}"


def device_words(device: Device) -> str:
    """`GPU 3, 0000:a1:00.0, look here`."""
    parts = (f"GPU {device.gpu}" if device.gpu is not None else "", device.pci or "", "look here" if device.suspect else "")
    return ", ".join(part for part in parts if part) or "a GPU"


def thread_name(thread: Thread) -> str:
    """A thread by name and id, as far as it has them."""
    if thread.name and thread.id:
        return f"{thread.name} ({thread.id})"
    return thread.name or thread.id or "thread"


def phase_words(name: str) -> str:
    """`graph_capture` as people say it."""
    return one_line(name).replace("_", " ")


def elapsed(seconds: float) -> str:
    """A length of time: `0.1 s`, `91.5 s`, `12 min 05 s`, `3 h 02 min`, `2 d 04 h`."""
    if seconds < 10 * _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min {int(seconds % _MINUTE):02} s"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE):02} min"
    return f"{int(seconds // _DAY)} d {int(seconds % _DAY // _HOUR):02} h"
