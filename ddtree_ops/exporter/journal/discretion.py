"""What of a failure may stand on a page that others than the host's own people see: nothing that a user may have written.

Anybody who can make the server log something could so write onto the page, also where the kind is known: behind a fixed beginning
anything may follow. So texts are kept only where they are ours (`words`), or wholly one of the sentences below, in which nothing
but numbers varies. The rest is told by its place: types, frames, ranks, times; `ddtree-ops triage` shows it on the host.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ddtree_ops.exporter.journal import words
from ddtree_ops.triage.block import ParsedException
from ddtree_ops.triage.model import Event, Failure

HIDDEN = "(text of the log isn't kept here; `ddtree-ops triage` shows it)"
_SIZE = r"[\d.]{1,12} (?:[KMGT]i?B|bytes)"
#: Of torch, CUDA, SGLang, systemd; each is the whole of a line.
_SENTENCES = (
    r"The size of tensor a \(\d{1,12}\) must match the size of tensor b \(\d{1,12}\) at non-singleton dimension \d{1,3}",
    rf"CUDA out of memory\. Tried to allocate {_SIZE}\."
    rf"(?: GPU \d{{1,3}} has a total capacity of {_SIZE} of which {_SIZE} is free\.)?",
    r"CUDA error: (?:an illegal memory access was encountered|device-side assert triggered|out of memory"
    r"|unspecified launch failure|no kernel image is available for execution on the device|uncorrectable ECC error encountered"
    r"|misaligned address)",
    r"Received sigquit from a child process\. It usually means (?:the|one) child failed\.",
    r"SIGQUIT received\. signum=(?:None|\d{1,3}), frame=None\. It usually means one child failed\.",
    r"SIGTERM received\b\.?(?: signum=(?:None|\d{1,3}) frame=None\. Draining requests and shutting down\.{3})?",
    r"Gracefully exiting\.{3}",
    r"Subprocess [a-z_]{1,40} \(pid=\d{1,10}\) crashed with exit code -?\d{1,9}\.?",
    r"[\w@.:-]{1,100}: Main process exited, code=[a-z]{1,12}, status=\d{1,3}/[A-Z_0-9]{1,20}",
    r"[\w@.:-]{1,100}: Failed with result '[a-z-]{1,30}'\.",
    r"[\w@.:-]{1,100}: Scheduled restart job, restart counter is at \d{1,6}\.",
    r"(?:Starting|Started|Stopping|Stopped) ddtree-server@\d{1,5}\.service - SGLang with DDTree on port \d{1,5}\.{0,3}",
)
_KNOWN = re.compile("|".join(f"(?:{sentence})" for sentence in _SENTENCES))
_PREFIX = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: [A-Z]{2}\d{1,3}){0,4}\] ")
_TYPE = re.compile(r"[A-Za-z_][\w.:]{0,100}")
_PHASE = "phase"


def discreet(failure: Failure) -> Failure:
    """The failure without the lines before it, and without texts that may be a user's."""
    types = [one.type for one in failure.exceptions if _TYPE.fullmatch(one.type)]
    plain = failure.kind.value.replace("_", " ")
    return replace(
        failure,
        title=words.ours(failure.title) or (f"{plain}: {types[-1]}" if types else plain),
        exceptions=tuple(_discreet_exception(one) for one in failure.exceptions),
        numbers=tuple(one for one in failure.numbers if words.ours(f"{one.value}")),
        evidence=tuple(replace(one, text=_kept(one.text)) for one in failure.evidence),
        cause=failure.cause and (words.ours(failure.cause) or words.cause(failure)),
        fixes=tuple(filter(None, map(words.ours, failure.fixes))),
        context=(),
    )


def discreet_events(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """The timeline; of lines that aren't one of the known sentences only that they were there."""
    return tuple(one if one.kind == _PHASE else replace(one, text=_kept(one.text)) for one in events)


def _discreet_exception(exception: ParsedException) -> ParsedException:
    name = exception.type if _TYPE.fullmatch(exception.type) else "exception"
    return replace(exception, type=name, message=_kept(exception.message) if exception.message else "", notes=())


def _kept(text: str) -> str:
    """Its first line if that is a known sentence; what follows it may be anything."""
    first, _, rest = text.strip().partition("\n")
    body = _PREFIX.sub("", first, count=1)
    if _KNOWN.fullmatch(body) is None:
        return HIDDEN
    return f"{first}\n{HIDDEN}" if rest.strip() else first
