"""Service discovery of `ddtree-ops exporter`: nothing without --inventory, so that nothing of it is imported then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.errors import DdtreeOpsError, UsageError

if TYPE_CHECKING:
    from ddtree_ops.exporter.collector import Collector
    from ddtree_ops.exporter.discovery.targets import Discovery
    from ddtree_ops.exporter.repeating import Repeating
    from ddtree_ops.exporter.web.routes import Route

STDOUT = Path("-")


@dataclass(frozen=True)
class Told:
    """What is told of an inventory, over HTTP and in a file."""

    discovery: Discovery | None = None
    path: Path | None = None
    file: Repeating | None = None

    @property
    def collectors(self) -> Sequence[Collector]:
        if self.discovery is None:
            return ()
        from ddtree_ops.exporter.collectors.discovery import DiscoveryCollector

        return (DiscoveryCollector(self.discovery),)

    @property
    def routes(self) -> Sequence[Route]:
        if self.discovery is None:
            return ()
        from ddtree_ops.exporter.discovery import routes

        return routes.routes(self.discovery)

    def reread(self) -> None:
        """Read the inventory as it is now, whether it seems changed or not."""
        if self.discovery is not None:
            self.discovery.reread()

    def start(self) -> None:
        """Begin to follow the inventory with the file. Raises DdtreeOpsError if it can't be written."""
        if self.file is not None:
            try:
                self.file.start()
            except OSError as error:
                raise _unwritable(self.path, error) from error

    def close(self) -> None:
        """End that."""
        if self.file is not None:
            self.file.close()

    def write_once(self) -> int:
        """Write the file as the inventory is now. Raises UsageError for any mistake in it, when the file stays as it was."""
        from ddtree_ops.exporter.discovery.file_sd import write_targets
        from ddtree_ops.exporter.discovery.groups import ALL

        assert self.discovery is not None and self.path is not None  # noqa: S101 - told() makes no other for --file-sd
        found = self.discovery.found()
        if found.problem:
            raise UsageError(found.problem, hint="nothing is written: a target that is no longer named would be dropped")
        mistaken = [one for one in found.hosts if one.problems]
        if mistaken:
            lines = tuple(f"host {one.host}: {problem}" for one in mistaken for problem in one.problems)
            hint = "nothing is written: their targets would be dropped"
            what = "1 host has mistakes" if len(mistaken) == 1 else f"{len(mistaken)} hosts have mistakes"
            raise UsageError(what, evidence=lines, hint=hint)
        if self.path == STDOUT:
            click.echo(found.bodies[ALL], nl=False)
            return 0
        try:
            changed = write_targets(self.discovery, self.path)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        count = sum(len(one.targets) for one in found.hosts)
        click.echo(f"{self.path}: {count} targets, {'written' if changed else 'unchanged'}", err=True)
        return 0


def told(inventory: Path | None, file_sd: Path | None) -> Told:
    """By the options of the command. Raises UsageError."""
    if inventory is None:
        if file_sd is not None:
            raise UsageError("--file-sd writes the targets of an inventory", hint="give --inventory as well")
        return Told()
    if file_sd is not None and file_sd != STDOUT and file_sd.suffix != ".json":
        raise UsageError(f"{file_sd}: Prometheus tells by the name that a file is JSON", hint="give a name that ends in .json")
    from ddtree_ops.exporter.discovery.file_sd import following
    from ddtree_ops.exporter.discovery.targets import Discovery

    discovery = Discovery(inventory)
    file = None if file_sd is None or file_sd == STDOUT else following(discovery, file_sd)
    return Told(discovery, file_sd, file)


def _unwritable(path: Path | None, error: OSError) -> DdtreeOpsError:
    return DdtreeOpsError(f"can't write {path}: {error.strerror}", hint="its folder must exist and be ours to write")
