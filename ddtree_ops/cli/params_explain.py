"""ddtree-ops params explain"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli import options
from ddtree_ops.cli.params_output import show_lines
from ddtree_ops.cli.params_source import Asked, index_of, over, source_options
from ddtree_ops.fleet.settings import Origin
from ddtree_ops.report.safe_text import one_line

if TYPE_CHECKING:
    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.flows.resolved_arguments import Resolved
    from ddtree_ops.runtime.parameters import Explained, Known, Write
    from ddtree_ops.runtime.source.index import Index
    from ddtree_ops.runtime.source.model import SourceTree

_ORIGINS = {
    Origin.SECTION: "a section of the spec",
    Origin.SPEC: "the spec's server_args",
    Origin.PROFILE: "the hardware profile",
}
EPILOG = """\b
Examples:
  ddtree-ops params explain mem-fraction-static --host ct200
  ddtree-ops params explain speculative_num_draft_tokens --host ct200 --format json
  ddtree-ops params explain --page-size --source .venv
"""


@click.command(epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.argument("name")
@source_options
@options.output_format
def command(name: str, host: str | None, source: Path | None, release: str | None, inventory: Path, form: str) -> int:
    """Show what an argument is on a host: as the spec asks for it, as the server has it, and which lines set it.

    With --source: its default, and the lines that set it.
    """
    from ddtree_ops.cli.show import show_json
    from ddtree_ops.runtime.parameters import declared, explain, find

    asked = Asked(host, source, release, inventory)
    chosen = _chosen(asked)
    tree, now = _read(asked, chosen)
    arguments = declared(tree)
    parameter = find(name, arguments)
    index = index_of(tree)
    found = explain(
        parameter,
        _argv(chosen),
        arguments,
        resolved=now.values or None if now is not None else None,
        writes=_writes(index, parameter.record or parameter.name),
        origins=_origins(chosen) if chosen is not None else None,
        resolved_from=now.source.value if now is not None else "",
    )
    why_not = now.why_not if now is not None else None
    if form == "json":
        show_json({"schema": "ddtree-ops/params-explain/v1", **dataclasses.asdict(found), "why_not_asked": why_not})
        return 0
    show_lines(_lines(found, index, on_host=chosen is not None, why_not=why_not))
    return 0


def _chosen(asked: Asked) -> Host | None:
    from ddtree_ops.cli import targets

    return targets.fleet(asked.inventory).host(asked.host) if asked.host is not None else None


def _read(asked: Asked, host: Host | None) -> tuple[SourceTree, Resolved | None]:
    """The tree; what the server has, where the tree is what it runs on."""
    if host is None:
        return asked.tree(), None
    from ddtree_ops.cli import targets
    from ddtree_ops.flows.resolved_arguments import resolved

    targets.connect_early((host,))
    with targets.server(host) as server:
        tree = over(server.shell, host, asked.release)
        return tree, resolved(server) if asked.release is None else None


def _argv(host: Host | None) -> tuple[str, ...]:
    from ddtree_ops.cli.inputs import release_of

    return tuple(release_of(host).server["argv"]) if host is not None else ()


def _origins(host: Host) -> Mapping[str, str]:
    return {one.name: _ORIGINS[one.origin] for one in host.serving.argument_settings(host.hardware)}


def _writes(index: Index, field: str) -> tuple[Write, ...]:
    from ddtree_ops.errors import UsageError
    from ddtree_ops.runtime.parameters import Write
    from ddtree_ops.runtime.trace import trace

    try:
        found = trace(index, field)
    except UsageError:
        return ()
    return tuple(Write(one.file, one.line, one.function, one.code) for one in found.writes)


def _lines(found: Explained, index: Index, *, on_host: bool, why_not: str | None) -> Iterator[str]:
    from ddtree_ops.cli.code_window import CodeWindows
    from ddtree_ops.cli.places import Places

    windows, places = CodeWindows(index), Places(index.tree)
    yield click.style(one_line(found.name), bold=True)
    yield _known("default", found.default, "none")
    if on_host:
        yield _known("requested", found.requested, "not set: the default counts")
        yield _known(
            "resolved", found.resolved, f"not known: {one_line(why_not) if why_not else 'no server of this release runs'}"
        )
    if found.changed:
        yield click.style("  the server has changed it", fg="yellow")
    yield "  lines that set it" if found.writes else "  no line was found that sets it after the command line was read"
    for one in found.writes:
        yield f"    {places.at(one.file, one.line)}  {one_line(one.function)}"
        yield from windows.around(one.file, one.line, before=2, indent=6)


def _known(label: str, known: Known | None, otherwise: str) -> str:
    if known is None:
        return f"  {label:<10} {click.style(otherwise, dim=True)}"
    return f"  {label:<10} {one_line(known.value)}  {click.style(one_line(known.origin), dim=True)}"
