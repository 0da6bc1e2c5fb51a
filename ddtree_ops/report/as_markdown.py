"""A failure as Markdown."""

from __future__ import annotations

from ddtree_ops.report.safe_text import code_span, fenced, markdown, rfc3339
from ddtree_ops.report.wording import ending, place, short_file, telling_frames, verdict_line
from ddtree_ops.triage.model import Failure, Verdict


def report_heading(verdict: Verdict, host: str | None, unit: str | None, lines_read: int) -> str:
    """The report's first line."""
    return f"# {markdown(verdict_line(verdict, host, unit, lines_read))}"


def failure_markdown(failure: Failure) -> str:
    """One section."""
    parts = [
        f"## {markdown(failure.title)}",
        f"{code_span(failure.kind.value)} ({failure.role.value}) {markdown(place(failure))}, {failure.count} times,"
        f" first at {rfc3339(failure.first_us) or 'an unknown time'}, fingerprint {code_span(failure.fingerprint)}",
    ]
    if failure.cause:
        parts.append(f"**Cause** ({failure.confidence.value}): {markdown(failure.cause)}")
    else:
        parts.append("**Cause**: not known.")
    if failure.numbers:
        parts.append(
            "\n".join(f"- {item.value}: {markdown(item.expression)} ({markdown(item.source)})" for item in failure.numbers)
        )
    if failure.fixes:
        parts.append("**Fix**\n\n" + "\n".join(f"{index}. {markdown(item)}" for index, item in enumerate(failure.fixes, 1)))
    parts.append(fenced(_traceback(failure) or "\n".join(item.text for item in failure.evidence)))
    return "\n\n".join(parts)


def _traceback(failure: Failure) -> str:
    lines: list[str] = []
    last = ending(failure)
    for exception in failure.exceptions:
        if exception.relation:
            lines += ["", f"[{exception.relation.value}]"]
        frames = telling_frames(failure, 8) if exception is last else exception.frames[-4:]
        for frame in frames:
            lines.append(f"{short_file(frame)}:{frame.line or '?'} in {frame.function or '?'}")
            lines += [f"    {line}" for line in (frame.code or "").split("\n") if line]
        lines.append(f"{exception.type}: {exception.message}" if exception.message else exception.type)
    return "\n".join(lines)
