"""Where `params` reads source from: a path here, a release on a host, or a version that was read before."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ddtree_ops.cli import options
from ddtree_ops.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ddtree_ops.fleet.inventory import Host
    from ddtree_ops.ports import Shell
    from ddtree_ops.runtime.source.index import Index
    from ddtree_ops.runtime.source.model import SourceTree

F = TypeVar("F", bound=Callable[..., Any])
#: In the place of a release's id: what the spec asks for, whether it is staged or not.
PLANNED = "planned"


def source_options(function: F) -> F:
    """--host or --source, --release, --inventory."""
    function = options.inventory(function)
    function = click.option(
        "--release", metavar="ID", help="Another release of the host than the one that serves; `planned`: what the spec asks for."
    )(function)
    function = click.option(
        "--source",
        type=options.PathName(path_type=Path),
        metavar="PATH",
        help="A checkout, a folder of packages, a venv, a wheel or an sdist.",
    )(function)
    return click.option("--host", metavar="HOST", help="The release that serves on a host of the inventory.")(function)


@dataclass(frozen=True)
class Asked:
    """What the options say. Raises UsageError if they don't name one source."""

    host: str | None
    source: Path | None
    release: str | None
    inventory: Path

    def __post_init__(self) -> None:
        if (self.host is None) == (self.source is None):
            raise UsageError("give --host HOST or --source PATH", hint="--source takes a checkout, a venv or a wheel")
        if self.release is not None and self.host is None:
            raise UsageError("--release needs --host", hint="--source names a tree by itself")

    def tree(self) -> SourceTree:
        """Raises UsageError, InvalidInventory, Unreachable, HostCommandFailed."""
        if self.source is not None:
            return at(self.source)
        from ddtree_ops.cli import targets

        return of_host(targets.fleet(self.inventory).host(str(self.host)), self.release)


def at(path: Path) -> SourceTree:
    """The source at a path. Raises UsageError."""
    from ddtree_ops.runtime.source.known import remember
    from ddtree_ops.runtime.source.tree import open_tree

    found = open_tree(path)
    remember(found)
    return found


def of_host(host: Host, release: str | None) -> SourceTree:
    """The source of a release of a host, by default of the current one."""
    from ddtree_ops.cli import targets

    targets.connect_early((host,))
    with targets.server(host) as server:
        return over(server.shell, host, release)


def over(shell: Shell, host: Host, release: str | None) -> SourceTree:
    """The same over a connection that is open. Raises UsageError for a release that isn't there and isn't planned."""
    from ddtree_ops.cli.inputs import release_of
    from ddtree_ops.flows import release_source
    from ddtree_ops.flows.look import look_releases
    from ddtree_ops.runtime.source.known import remember

    there = look_releases(shell)
    wanted = release or there.current
    if wanted is None:
        raise UsageError(f"{host.name} has no current release", hint="`--release planned` is what its spec asks for")
    if there.manifest(wanted) is not None:
        found = release_source.staged(shell, wanted)
        remember(found)
        return found
    asked_for = release_of(host)
    tree = release_source.planned(shell, asked_for, there.manifests) if wanted in (PLANNED, asked_for.id) else None
    if tree is None and wanted in (PLANNED, asked_for.id):
        raise UsageError(f"nothing of {asked_for.id} is here or on {host.name}", hint="name a path with --source")
    if tree is None:
        known = ", ".join(one.id for one in there.manifests) or "none"
        raise UsageError(
            f"{host.name} has no release {wanted}", hint=f"releases there: {known}; what its spec asks for: {PLANNED}"
        )
    return tree


def index_of(tree: SourceTree) -> Index:
    """The index, with a bar on a terminal while files are read for the first time."""
    from ddtree_ops.runtime.source.index import build

    with _bar() as on_progress:
        return build(tree, on_progress=on_progress)


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None]]:
    from ddtree_ops.cli.terminal import is_dumb

    shown = sys.stderr.isatty() and not is_dumb()
    width = 30

    def on_progress(done: int, total: int) -> None:
        if shown:
            filled = width * done // max(1, total)
            with suppress(OSError):  # the terminal was closed
                click.echo(
                    f"\rreading source  [{'#' * filled}{'.' * (width - filled)}]  {done}/{total} files", nl=False, err=True
                )

    try:
        yield on_progress
    finally:
        if shown:
            with suppress(OSError):
                click.echo("\r\x1b[K", nl=False, err=True, color=True)
