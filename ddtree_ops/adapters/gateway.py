"""A host's journal over HTTP, from its systemd-journal-gatewayd: for hosts that let nobody in by SSH.

The interface is that of systemd-journal-gatewayd.service(8), systemd 252: GET /entries with `Accept:
application/vnd.fdo.journal` answers the export format; each `FIELD=value` of the query must be so, and there is no "or":
a unit's own entries, the manager's about it and the kernel's come by three requests and are put together by time.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from urllib.parse import SplitResult, urlencode, urlsplit

from ddtree_ops.adapters.endings import lost, reason
from ddtree_ops.adapters.gateway_time import since_us
from ddtree_ops.adapters.output import CHUNK
from ddtree_ops.errors import HostCommandFailed, Unreachable, UsageError
from ddtree_ops.triage.forms.export_entries import merged

PORT = 19531
_Query = tuple[tuple[str, str], ...]


@contextmanager
def open_gateway(
    url: str, *, unit: str | None = None, since: str | None = None, silence: float = 30.0
) -> Iterator[Iterator[bytes]]:
    """What the journal behind `url` (`http://HOST:19531`) holds, in export format, oldest first.

    `unit`: its entries, the manager's about it, and the kernel's; None: everything. `since`: as journalctl takes times
    (gateway_time.py). `silence`: seconds for connecting and for each wait. Raises UsageError, Unreachable,
    HostCommandFailed (the gateway refuses); the iterator too, when the connection is lost.
    """
    address = _address(url)
    start = None if since is None else since_us(since, time.time())
    with ExitStack() as open_requests:
        streams = [open_requests.enter_context(_entries(address, query, start, silence)) for query in _queries(unit)]
        yield streams[0] if len(streams) == 1 else merged(streams)


def _address(url: str) -> SplitResult:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port
    except ValueError as error:
        raise UsageError(f"--gateway: {error}", hint=f"http://HOST:{PORT}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError("--gateway: not an address of a systemd-journal-gatewayd", hint=f"http://HOST:{PORT}")
    if parts.username is not None or parts.password is not None:
        raise UsageError("--gateway: a password would show in the list of processes", hint=f"http://HOST:{PORT}")
    return parts._replace(netloc=f"{_bracketed(parts.hostname)}:{port or PORT}")


def _bracketed(name: str) -> str:
    return f"[{name}]" if ":" in name else name


def _queries(unit: str | None) -> tuple[_Query, ...]:
    if unit is None:
        return ((),)
    return (("_SYSTEMD_UNIT", unit),), (("_PID", "1"), ("UNIT", unit)), (("_TRANSPORT", "kernel"),)


@contextmanager
def _entries(address: SplitResult, query: _Query, start_us: int | None, silence: float) -> Iterator[Iterator[bytes]]:
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(str(address.hostname), address.port, timeout=silence)
    try:
        yield _body(address.netloc, _answer(address, connection, query, start_us))
    finally:
        connection.close()


def _answer(
    address: SplitResult, connection: http.client.HTTPConnection, query: _Query, start_us: int | None
) -> http.client.HTTPResponse:
    headers = {"Accept": "application/vnd.fdo.journal"}
    if start_us is not None:
        # A cursor may consist of a time alone (sd_journal_seek_cursor(3)): the first entry that isn't older.
        headers["Range"] = f"entries=t={max(0, start_us):x}"
    path = f"{address.path.rstrip('/')}/entries"
    try:
        connection.request("GET", f"{path}?{urlencode(query)}" if query else path, headers=headers)
        answer = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(
            f"{address.netloc}: no answer from systemd-journal-gatewayd: {reason(error)}",
            hint="systemctl start systemd-journal-gatewayd.socket",
        ) from error
    if answer.status != http.client.OK:
        said = answer.read(200).decode("utf-8", "replace").strip()
        raise HostCommandFailed(f"{address.netloc}: {path} answers {answer.status}: {said}")
    if answer.getheader("Content-Type", "").split(";")[0] != "application/vnd.fdo.journal":
        raise HostCommandFailed(f"{address.netloc}: {path} is not a systemd-journal-gatewayd's")
    return answer


def _body(name: str, answer: http.client.HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            data = answer.read1(CHUNK)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise lost(name, error) from error
        if not data:
            return
        yield data
