"""What `ddtree-ops triage` does with each kind of source, once or while it goes on."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ddtree_ops.errors import UsageError

if TYPE_CHECKING:
    from ddtree_ops.cli.triage_asked import Asked
    from ddtree_ops.flows.server import Server
    from ddtree_ops.report.failure import FailureReport
    from ddtree_ops.triage.numbers import Facts

CHUNK = 1 << 18
_SCHEMAS = b'"ddtree-ops/'  # of any document of ours; only a failure report can be compared


def once(asked: Asked) -> FailureReport:
    """One report of what there is now."""
    from ddtree_ops.flows import triage

    facts = _facts(asked.server_info)
    if asked.host is None:
        return _with_source_tree(_of_bytes(asked, facts), asked.source_tree)
    with _server(asked) as (server, unit):
        if asked.invocation:
            report = triage.of_invocation(server.shell, unit, asked.invocation, facts)
        else:
            report = triage.of_unit(server.shell, unit, asked.since, facts)
        return _with_sources(report, asked.source_tree, server)


def list_crashes(asked: Asked) -> int:
    """A line for each crash that the host keeps; 0."""
    from ddtree_ops.cli.show import crash_lines, show_json
    from ddtree_ops.flows import crashes

    with _server(asked) as (server, _):
        rows = [(one, crashes.report_or_none(server.shell, one)) for one in crashes.kept(server.shell)]
    if asked.form == "json":
        document = [{"at": one.time, "invocation": one.invocation, "bytes": one.size, **_summary(report)} for one, report in rows]
        show_json({"schema": "ddtree-ops/crashes/v1", "host": asked.host, "crashes": document})
    else:
        for line in crash_lines(rows, str(asked.host)):
            click.echo(line)
    return 0


def follow(asked: Asked) -> int:
    """Wait for the next failure, print its report, end."""
    from ddtree_ops.cli.show import show_failure

    report = _followed(asked, _facts(asked.server_info))
    if report is None:
        click.echo("the log ended and nothing failed", err=True)
        return 0
    if asked.form != "json":
        return show_failure(report, asked.form)
    click.echo(report.to_json(indent=None))
    return 4


def compare(first: Path, second: Path, form: str) -> int:
    """Whether two reports, or logs, tell the same failure."""
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.report.compare import compare as compared

    result = compared(_read_report(first), _read_report(second))
    if form == "json":
        show_json(result.to_data())
    else:
        click.echo(result.to_text(), nl=False)
    return int(result.exit_code)


@contextmanager
def _server(asked: Asked) -> Iterator[tuple[Server, str]]:
    from ddtree_ops.cli import targets

    chosen = targets.fleet(asked.inventory).host(str(asked.host))
    with targets.server(chosen) as server:
        yield server, asked.unit or server.unit


def _followed(asked: Asked, facts: Facts | None) -> FailureReport | None:
    from ddtree_ops.flows import triage_follow

    if asked.host is None:
        found = triage_follow.follow_bytes(_chunks(sys.stdin.buffer), asked.unit, facts, _now_us())
        return found and _with_source_tree(found, asked.source_tree, following=True)
    with _server(asked) as (server, unit):  # without the host's code: reading it takes longer than the report may
        found = triage_follow.follow(server, unit, asked.since, facts)
        return _with_source_tree(found, asked.source_tree, following=True)


def _of_bytes(asked: Asked, facts: Facts | None) -> FailureReport:
    if asked.gateway is not None:
        from ddtree_ops.adapters.gateway import open_gateway

        with open_gateway(asked.gateway, unit=asked.unit, since=asked.since) as chunks:
            return _triage(chunks, asked.unit, facts)
    if asked.path is None:
        return _triage(_chunks(sys.stdin.buffer), asked.unit, facts)
    with asked.path.open("rb") as stream:
        return _triage(_chunks(stream), asked.unit, facts)


def _triage(chunks: Iterator[bytes], unit: str | None, facts: Facts | None) -> FailureReport:
    from ddtree_ops.report.entries import triage_bytes

    return triage_bytes(chunks, facts=facts, only_unit=unit, now_us=_now_us())


def _now_us() -> int:
    return time.time_ns() // 1000


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    """What there is, as soon as it is there."""
    descriptor = stream.fileno()
    return iter(lambda: os.read(descriptor, CHUNK), b"")


def _facts(path: Path | None) -> Facts | None:
    if path is None:
        return None
    import json

    from ddtree_ops.triage.numbers import facts_from_server_info

    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not JSON: {error}", hint="save it with curl http://127.0.0.1:PORT/server_info") from error
    facts = facts_from_server_info(data)
    if not facts.server_args:
        raise UsageError(f"{path}: no server arguments in it", hint="save it with curl http://127.0.0.1:PORT/server_info")
    return facts


def _read_report(path: Path) -> FailureReport:
    """A saved report, or a log that one is made of."""
    import json

    from ddtree_ops.report.entries import triage_bytes
    from ddtree_ops.report.failure import FailureReport

    raw = path.read_bytes() if path.stat().st_size < 64 << 20 else b""
    if raw.lstrip().startswith(b"{") and _SCHEMAS in raw[:2000]:
        try:
            return FailureReport.from_data(json.loads(raw), name=str(path))
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}: not a failure report: {error}") from error
    with path.open("rb") as stream:
        return triage_bytes(_chunks(stream), now_us=_now_us())


def _summary(report: FailureReport | None) -> dict[str, Any]:
    if report is None or _is_damaged(report):
        return {"verdict": "damaged", "unit": None, "kind": None, "title": None, "fingerprint": None}
    root = report.root
    if root is None:
        return {"verdict": report.verdict.value, "unit": report.unit, "kind": None, "title": None, "fingerprint": None}
    data = report.to_data()["failures"][0]
    return {"verdict": report.verdict.value, "unit": report.unit, **{key: data[key] for key in ("kind", "title", "fingerprint")}}


def _is_damaged(report: FailureReport) -> bool:
    from ddtree_ops.triage.model import UNREADABLE_INPUT

    return report.root is None and any(event.kind == UNREADABLE_INPUT for event in report.events)


def _with_source_tree(report: FailureReport, tree: Path | None, *, following: bool = False) -> FailureReport:
    from ddtree_ops.flows import origins, source

    if tree is None:
        return report
    seconds = origins.FOLLOW_SECONDS if following else origins.TREE_SECONDS
    return origins.from_tree(source.from_tree(report, tree), tree, _tell, seconds)


def _with_sources(report: FailureReport, tree: Path | None, server: Server) -> FailureReport:
    from ddtree_ops.flows import origins, source

    if tree is not None:
        return _with_source_tree(report, tree)
    return origins.from_host(source.from_host(report, server.shell), server.shell, _tell)


def _tell(line: str) -> None:
    click.echo(f"{line} ...", err=True)
