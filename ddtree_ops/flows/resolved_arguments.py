"""What the running server really uses: asked of itself, else read from the line in which it printed its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice

from ddtree_ops.flows import credentials
from ddtree_ops.flows.server import Server
from ddtree_ops.ports import HttpRequest
from ddtree_ops.triage import journal
from ddtree_ops.triage.model import ServerArgs
from ddtree_ops.triage.numbers import facts_from_server_info
from ddtree_ops.triage.server_args import is_secret, parse_server_args

TIMEOUT_SECONDS = 5.0
#: Entries of a run among which the line stands: SGLang prints its arguments before anything is loaded.
_ENTRIES = 5000
_DEPTH = 6


class ResolvedFrom(StrEnum):
    """Who says so. NOWHERE: no server runs, or it hasn't come so far."""

    SERVER_INFO = "server_info"
    LOG = "log"
    NOWHERE = "nowhere"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Server arguments by field name, typed as the server has them (lists and mappings too), without anything secret.

    `when`: the time of the answer or of the log line, UTC. `why_not`: why the server itself couldn't be asked.
    The texts among the values are the server's: clean them before they are shown.
    """

    values: ServerArgs
    source: ResolvedFrom
    when: datetime | None = None
    why_not: str | None = None


def resolved(server: Server) -> Resolved:
    """What the server of this host uses now. Raises Unreachable where the host itself is lost."""
    values, why_not = _asked(server)
    if values:
        return Resolved(values, ResolvedFrom.SERVER_INFO, datetime.now(UTC))
    state = server.state()
    read = _printed(server, state.invocation) if state.invocation else None
    if read is None:
        return Resolved({}, ResolvedFrom.NOWHERE, None, why_not)
    return Resolved(read[0], ResolvedFrom.LOG, read[1], why_not)


def _asked(server: Server) -> tuple[ServerArgs, str | None]:
    """(arguments, None), or ({}, why not). SGLang 0.5.9 to 0.5.23 answer `/server_info`, with the API key where one is set."""
    bearer = credentials.bearer(server.shell)
    try:
        answer = server.ask(HttpRequest(server.port, "/server_info", timeout=TIMEOUT_SECONDS, bearer=bearer))
    except TimeoutError:
        return {}, f"/server_info did not answer in {TIMEOUT_SECONDS:g} s"
    if answer.status != 200:
        told = f"answered {answer.status}" if answer.status else "is not reachable: nothing listens"
        return {}, answer.problem or f"/server_info {told}"
    try:
        values = facts_from_server_info(json.loads(answer.body)).server_args
    except (ValueError, RecursionError):
        return {}, "/server_info answered something that is no JSON"
    return (_open(values), None) if values else ({}, "/server_info answered without arguments")


def _printed(server: Server, invocation: str) -> tuple[ServerArgs, datetime | None] | None:
    """The arguments that this run printed, and when; None where its journal doesn't have the line."""
    with server.shell.stream(journal.read(server.unit, invocation=invocation)) as stream:
        for entry in islice(journal.read_export(stream.chunks()), _ENTRIES):
            values = parse_server_args(entry.message)
            if values:
                return _open(values), _time(entry.realtime_us)
    return None


def _time(microseconds: int | None) -> datetime | None:
    try:
        return None if microseconds is None else datetime.fromtimestamp(microseconds / 1e6, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _open(values: ServerArgs) -> ServerArgs:
    """Without what may be secret, inside of mappings too."""
    return {name: _without_secrets(value, _DEPTH) for name, value in values.items() if not is_secret(name)}


def _without_secrets(value: object, depth: int) -> object:
    if depth == 0 and isinstance(value, Mapping | list | tuple):
        return "…"
    if isinstance(value, Mapping):
        known = {key: item for key, item in value.items() if not (isinstance(key, str) and is_secret(key))}
        return {key: _without_secrets(item, depth - 1) for key, item in known.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(item, depth - 1) for item in value]
    return value
