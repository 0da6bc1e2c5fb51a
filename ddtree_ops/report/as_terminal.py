"""A failure report for a person at a terminal. The root comes last: the eye is at the end of what scrolled by."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from ddtree_ops.report.safe_text import block, one_line, rfc3339
from ddtree_ops.report.wording import ending, place, short_file, telling_frames, verdict_line
from ddtree_ops.triage.model import Failure, Role, Verdict

_RESET = "\x1b[0m"
_STYLES = {"bad": "\x1b[1;31m", "good": "\x1b[1;32m", "strong": "\x1b[1m", "dim": "\x1b[2m"}
_FRAMES = 4
_FIRST = 3  # exceptions that came before the last one, or are in its group
_MESSAGE_LINES = 12


class TerminalText:
    """Builds the text; every piece of the log passes through `safe_text` before it gets here a colour."""

    def __init__(self, *, colour: bool, width: int) -> None:
        self._colour, self._width = colour, width

    def report(
        self,
        verdict: Verdict,
        host: str | None,
        unit: str | None,
        lines_read: int,
        failures: tuple[Failure, ...],
        notes: Iterable[str] = (),
    ) -> str:
        """The whole report, ending with a line break. `notes`: what has to be known of the input."""
        style = "bad" if verdict is Verdict.FAILURE else "good"
        lines = [self._style(style, one_line(verdict_line(verdict, host, unit, lines_read)))]
        for note in notes:
            lines += self._labelled("Note", [one_line(note)])
        for failure in failures:
            if failure.role is not Role.ROOT:
                lines += self._minor(failure)
        for failure in failures:
            if failure.role is Role.ROOT:
                lines += ["", *self._root(failure)]
        return "\n".join(lines) + "\n"

    def _root(self, failure: Failure) -> Iterable[str]:
        yield f"{self._style('bad', failure.kind.value)} {one_line(place(failure))}".rstrip()
        yield self._style("strong", one_line(failure.title, self._width))
        last = ending(failure)
        for exception in [item for item in failure.exceptions if item is not last][-_FIRST:]:
            cause = f"  first {exception.type}: {exception.message}" if exception.message else f"  first {exception.type}"
            yield "  " + self._style("dim", one_line(cause, self._width - 2))
        for frame in telling_frames(failure, _FRAMES):
            yield self._style("dim", f"  {short_file(frame)}:{frame.line or '?'} in {one_line(frame.function or '?')}")
            yield from (f"    {line}"[: self._width] for line in block(frame.code or "").split("\n") if line)
        if last:
            text = block(f"{last.type}: {last.message}" if last.message else last.type)
            yield from self._wrapped("  ", text.split("\n")[:_MESSAGE_LINES])
        if not failure.exceptions:
            yield from (f"  {one_line(item.text, self._width - 2)}" for item in failure.evidence[-4:])
        yield from self._explanation(failure)
        seen = rfc3339(failure.first_us) or "unknown time"
        yield self._style("dim", f"Seen        {seen}, {failure.count}x, fingerprint {failure.fingerprint}")

    def _explanation(self, failure: Failure) -> Iterable[str]:
        sure = "" if failure.confidence.value == "certain" else f" ({failure.confidence.value})"
        cause = f"{failure.cause}{sure}" if failure.cause else "not known; nothing is guessed here"
        yield from self._labelled("Cause", [one_line(cause)])
        yield from self._labelled("Numbers", [one_line(f"{item.value}: {item.expression}") for item in failure.numbers])
        yield from self._labelled("Fix", [one_line(item) for item in failure.fixes])

    def _minor(self, failure: Failure) -> Iterable[str]:
        text = f"{failure.role.value}: {failure.kind.value} {place(failure)}: {failure.title} ({failure.count}x)"
        yield self._style("dim", one_line(text, self._width))

    def _labelled(self, label: str, texts: list[str]) -> Iterable[str]:
        for index, text in enumerate(texts):
            head = f"{label if index == 0 else '':<12}"
            wrapped = textwrap.wrap(text, self._width - 12, break_on_hyphens=False) or [""]
            yield (self._style("strong", head) if index == 0 else head) + wrapped[0]
            yield from (" " * 12 + line for line in wrapped[1:])

    def _wrapped(self, indent: str, lines: list[str]) -> Iterable[str]:
        for line in lines:
            for part in textwrap.wrap(line, self._width - len(indent), break_on_hyphens=False) or [""]:
                yield self._style("bad", indent + part)

    def _style(self, name: str, text: str) -> str:
        return f"{_STYLES[name]}{text}{_RESET}" if self._colour else text
