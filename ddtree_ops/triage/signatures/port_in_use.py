"""The port that the server should listen on belongs to somebody else."""

from __future__ import annotations

import re

from ddtree_ops.triage.kinds import Kind
from ddtree_ops.triage.model import Confidence, Finding
from ddtree_ops.triage.signatures.context import Context, Signature

# asyncio's words, as uvicorn prints them; errno 98 is EADDRINUSE (errno(3), Linux)
_BIND = re.compile(
    r"error while attempting to bind on address \((?P<address>[^)]{1,200})\): (?:\[errno 98\] )?(?:address already in use"
    r"|\[Errno 98\])"
)
# torch's TCPStore, ZeroMQ, SGLang's own check (srt/utils/network.py, wait_port_available and bind_port)
_ERRNO = re.compile(
    r"\[Errno 98\]|EADDRINUSE|(?:[Pp]ort|addr)[ =:'\"]{1,3}\S{0,80}?(?P<port>\d{2,5})['\")]{0,3}.{0,40}already in use"
    r"|[Aa]ddress already in use(?: \(addr='\w{2,5}://(?P<zmq>[^']{1,200})'\))?"
    r"|at (?P<waited>\d{2,5}) is not available in \d+ seconds|Could not bind port (?P<bound>\d{2,5}) on any"
)
_STORE = re.compile(r"port: (?P<port>\d{2,5})\b")  # torch prints it before the errno's name
_OWNER = re.compile(r"process\.name\(\)='(?P<name>[^']{1,80})'.{0,600}?\bpid=(?P<pid>\d{1,10})", re.DOTALL)
_LINE = re.compile(r"(?:ERROR: +)?\[Errno 98\] ")
_TAKEN = re.compile(r"port (?P<port>\d{1,5}) is taken by another process\b")  # the launcher's words


def match(context: Context) -> Finding | None:
    """An exception about an address in use."""
    found = context.first(_BIND) or context.first(_ERRNO)
    return _read(found[0].message) if found else None


def match_line(text: str) -> Finding | None:
    """uvicorn's error line; it comes without a traceback."""
    return _read(text[:2000]) if _LINE.match(text) and _BIND.search(text[:2000]) else None


def match_words(reason: str) -> Finding | None:
    """The launcher looks at the port itself: SGLang's own refusal can come late or be lost."""
    found = _TAKEN.match(reason)
    return _finding(found["port"], "") if found else None


def _read(message: str) -> Finding:
    bound, named = _BIND.search(message), _ERRNO.search(message)
    place = ""
    if bound:
        place = bound["address"].replace("'", "").replace(", ", ":")
    elif named:
        place = named["port"] or named["zmq"] or named["waited"] or named["bound"] or ""
        store = _STORE.search(message) if not place else None
        place = store["port"] if store else place
    owner = _OWNER.search(message)
    return _finding(place, f" ({owner['name']}, process {owner['pid']})" if owner else "")


def _finding(place: str, owner: str) -> Finding:
    port = place.rpartition(":")[2]
    return Finding(
        kind=Kind.PORT_IN_USE,
        title=f"Port {port} is in use" if port else "A port is in use",
        cause=f"Another process{owner} listens on {place} already."
        if place
        else f"Another process{owner} has the address already.",
        fixes=(
            f"Find it with `ss -ltnp 'sport = :{port}'`." if port.isdigit() else "Find it with `ss -ltnp`.",
            "Stop it, or choose another port (--port; --nccl-port and --dist-init-addr for the ranks among themselves).",
        ),
        confidence=Confidence.CERTAIN,
    )


SIGNATURE = Signature(match, match_line, match_words, literals=("[Errno 98]",))
