"""Words that the text forms share."""

from __future__ import annotations

from ddtree_ops.report.safe_text import one_line
from ddtree_ops.triage.block import Frame, ParsedException
from ddtree_ops.triage.model import NOTHING_LEFT, UNREADABLE_INPUT, Event, Failure, Verdict

_VERDICTS = {
    Verdict.NO_FAILURE: "No failure found",
    Verdict.INCONCLUSIVE: "Nothing to judge by",
    Verdict.FAILURE: "Failure",
}


def verdict_line(verdict: Verdict, host: str | None, unit: str | None, lines_read: int) -> str:
    """One line on the whole."""
    where = "".join(f" {word} {one_line(name)}" for word, name in (("of", unit), ("on", host)) if name)
    return f"{_VERDICTS[verdict]} in {lines_read:,} journal entries{where}"


def notes(events: tuple[Event, ...]) -> list[str]:
    """What has to be known of the input: what of it couldn't be read, or that nothing was left to read."""
    return [one_line(event.text) for event in events if event.kind in (UNREADABLE_INPUT, NOTHING_LEFT)]


def place(failure: Failure) -> str:
    """On which ranks or processes, and when in the server's life: `on TP0, TP1 during warmup`."""
    names = [one_line(item.rank or (f"pid {item.pid}" if item.pid else "")) for item in failure.processes]
    names = list(dict.fromkeys(name for name in names if name))
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    phase = "" if failure.phase.value == "unknown" else f" during {failure.phase.value}"
    return (f"on {shown}" if shown else "") + phase


def short_file(frame: Frame) -> str:
    """A frame's file without the installation's path."""
    file = one_line(frame.file)
    for mark in ("/site-packages/", "/dist-packages/"):
        if mark in file:
            return file.rpartition(mark)[2]
    return file


def ending(failure: Failure) -> ParsedException | None:
    """The exception that ended the process: the last one outside groups; None if none was printed."""
    return next((item for item in reversed(failure.exceptions) if item.parent is None), None)


def telling_frames(failure: Failure, count: int) -> list[Frame]:
    """The last frames of the exception that ended it; the application's own where it has any."""
    last = ending(failure)
    frames = last.frames if last else ()
    own = [frame for frame in frames if frame.in_app]
    return (own or list(frames))[-count:]
