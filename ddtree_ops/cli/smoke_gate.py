"""`ddtree-ops smoke --gate` and `--record-gate FILE`."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import targets
from ddtree_ops.cli.show import show_json
from ddtree_ops.errors import DdtreeOpsError, UsageError
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host

_COLOURS = {"passed": "green", "refused": "red", "inconclusive": "yellow", "skipped": "yellow"}


def run(host: Host, form: str) -> int:
    """Judge what serves now. The exit code is the gate's own: 0, 4, 7 or 10."""
    from ddtree_ops.flows import gate

    with targets.server(host) as server:
        gated = gate.run(server)
    error: DdtreeOpsError | None = None
    try:
        gated.check(host.name)
    except DdtreeOpsError as refused:
        error = refused
    if form == "json":
        show_json({"schema": "ddtree-ops/gate/v1", "host": host.name, "kept": gated.keeps, **gated.figures()})
        return error.exit_code if error else 0
    for finding in gated.judgement.findings:
        word = click.style(finding.verdict.value, fg=_COLOURS[finding.verdict.value])
        click.echo(f"{word}  {finding.check}: {one_line(finding.text)}")
        for line in finding.details:
            click.echo(f"  {one_line(line)}")
    click.echo(f"{click.style(host.name, bold=True)}  {one_line(gated.summary())}")
    return error.exit_code if error else 0


def record(host: Host, file: Path, form: str) -> int:
    """Write a baseline; the file is replaced as a whole or not at all."""
    from ddtree_ops.flows.gate_record import record as record_baseline

    _check_writable(file)
    with targets.server(host) as server:
        baseline = record_baseline(server)
    _write(file, baseline.to_json())
    length = baseline.acceptance_length
    shaky = sum(1 for one in baseline.answers if one.steady < len(one.token_ids or one.text))
    if form == "json":
        document = {"host": host.name, "file": str(file), "algorithm": baseline.algorithm, "acceptance_length": length}
        show_json({"schema": "ddtree-ops/gate-recorded/v1", **document, "prompts": len(baseline.answers), "not_steady": shaky})
        return 0
    told = f", acceptance length {length:.2f}" if length is not None else ""
    click.echo(f"{file}: {len(baseline.answers)} answers of {one_line(baseline.algorithm or 'plain decoding')}{told}")
    if shaky:
        click.echo(f"{shaky} of them were not the same twice; only the part that was is compared")
    return 0


def _check_writable(file: Path) -> None:
    """Before the host is asked, which takes minutes. Raises UsageError."""
    try:
        if file.exists() and not file.is_file():
            raise UsageError(f"--record-gate {file}: is there and is no plain file", hint="name a new file")
        with tempfile.TemporaryFile(dir=file.parent):
            pass
    except OSError as error:
        hint = "name a file in a folder that exists and that you may write to"
        raise UsageError(f"--record-gate {file}: can't be written: {error.strerror}", hint=hint) from error


def _write(file: Path, text: str) -> None:
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".ddtree-ops-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(file)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise DdtreeOpsError(f"{file}: {error.strerror}") from error
