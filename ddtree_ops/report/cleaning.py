"""A report's texts made fit to be shown, once for every form: no control or invisible characters, no credentials.

What the forms do further is only their own escaping.
"""

from __future__ import annotations

from dataclasses import replace

from ddtree_ops.report.safe_text import block, one_line, several
from ddtree_ops.triage.block import Device, Evidence, Frame, ParsedException, Thread
from ddtree_ops.triage.model import Event, Failure, Number, Process


def clean_failure(failure: Failure) -> Failure:
    """The failure with clean texts."""
    return replace(
        failure,
        fingerprint=one_line(failure.fingerprint),
        title=one_line(failure.title),
        processes=tuple(Process(item.pid, _line(item.rank), _line(item.name)) for item in failure.processes),
        exceptions=tuple(_exception(item) for item in failure.exceptions),
        numbers=tuple(Number(item.value, one_line(item.expression), one_line(item.source)) for item in failure.numbers),
        evidence=_evidence(failure.evidence),
        context=_evidence(failure.context),
        cause=_line(failure.cause),
        fixes=tuple(one_line(item) for item in failure.fixes),
        devices=tuple(Device(item.gpu, _line(item.pci), item.suspect) for item in failure.devices),
        threads=tuple(_thread(item) for item in failure.threads),
    )


def clean_event(event: Event) -> Event:
    """The event with a clean text."""
    return Event(event.time_us, one_line(event.kind), one_line(event.text))


def _line(text: str | None) -> str | None:
    return None if text is None else one_line(text)


def _evidence(items: tuple[Evidence, ...]) -> tuple[Evidence, ...]:
    texts = several(tuple(item.text for item in items))
    return tuple(Evidence(_line(item.cursor), item.line, item.time_us, text) for item, text in zip(items, texts, strict=True))


def _exception(item: ParsedException) -> ParsedException:
    return replace(
        item,
        type=one_line(item.type),
        message=block(item.message),
        frames=tuple(_frame(frame) for frame in item.frames),
        notes=tuple(block(note) for note in item.notes),
    )


def _thread(item: Thread) -> Thread:
    return Thread(_line(item.id), _line(item.name), item.current, tuple(_frame(frame) for frame in item.frames))


def _frame(frame: Frame) -> Frame:
    return replace(
        frame,
        file=one_line(frame.file),
        function=_line(frame.function),
        code=None if frame.code is None else block(frame.code),
        source=None if frame.source is None else tuple(block("\n".join(frame.source)).split("\n")),
    )
