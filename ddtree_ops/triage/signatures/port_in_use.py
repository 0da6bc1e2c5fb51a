"""The port that the server should listen on belongs to somebody else."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# asyncio's words, as uvicorn prints them; errno 98 is EADDRINUSE (errno(3), Linux)
_BIND = re.compile(r"error while attempting to bind on address \((?P<address>[^)]*)\): (?:\[errno 98\] )?address already in use")
_ERRNO = re.compile(r"\[Errno 98\] .*[Aa]ddress already in use|EADDRINUSE|port[ =:]+(?P<port>\d+).{0,40}already in use")
_LINE = re.compile(r"(?:ERROR: +)?\[Errno 98\] ")
_TAKEN = re.compile(r"port (?P<port>\d{1,5}) is taken by another process\b")  # the launcher's words


def match(context: Context) -> Finding | None:
    """An exception about an address in use."""
    found = context.first(_BIND) or context.first(_ERRNO)
    return _read(found[0].message) if found else None


def match_line(text: str) -> Finding | None:
    """uvicorn's error line; it comes without a traceback."""
    return _read(text) if _LINE.match(text) and _BIND.search(text) else None


def match_words(reason: str) -> Finding | None:
    """The launcher looks at the port itself: SGLang's own refusal can come late or be lost."""
    found = _TAKEN.match(reason)
    return _finding(found["port"]) if found else None


def _read(message: str) -> Finding:
    bound, named = _BIND.search(message), _ERRNO.search(message)
    place = ""
    if bound:
        place = bound["address"].replace("'", "").replace(", ", ":")
    elif named and named["port"]:
        place = named["port"]
    return _finding(place)


def _finding(place: str) -> Finding:
    port = place.rpartition(":")[2]
    return Finding(
        kind=Kind.PORT_IN_USE,
        title=f"Port {port} is in use" if port else "A port is in use",
        cause=f"Another process listens on {place} already." if place else "Another process has the address already.",
        fixes=(
            f"Find it with `ss -ltnp 'sport = :{port}'`." if port.isdigit() else "Find it with `ss -ltnp`.",
            "Stop it, or choose another port.",
        ),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match, match_line, match_words, literals=("[Errno 98]",))
