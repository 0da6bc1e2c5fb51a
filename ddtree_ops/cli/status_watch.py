"""`ddtree-ops status --watch`: hosts read over SSH with the exporter's collectors, shown until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ddtree_ops.cli.errors import INTERRUPTED

if TYPE_CHECKING:
    from ddtree_ops.exporter.collector import Collector
    from ddtree_ops.exporter.metric import Sample
    from ddtree_ops.exporter.sight.model import HostSight
    from ddtree_ops.exporter.target import Target

# What changes while one looks on is read at each look; releases, drift and boots on their own, longer periods.
_QUICK = ("unit", "server")

Look = Callable[[], tuple[float, Sequence["HostSight"]]]


@dataclass(frozen=True)
class _Paced:
    """A collector that is read as often as the screen is drawn."""

    inner: Collector
    period: float

    @property
    def name(self) -> str:
        return self.inner.name

    def read(self) -> Sequence[Sample]:
        return self.inner.read()


def watch(inventory: Path, hosts: tuple[str, ...], group: str | None, form: str, interval: float) -> int:
    """130 at Ctrl-C: there is no other end, but a reader that leaves. Raises UsageError, InvalidInventory."""
    with _looking(inventory, hosts, group, interval) as look, contextlib.suppress(KeyboardInterrupt):
        if form == "text" and _is_terminal():
            _draw(look, interval)
        else:
            _tell(look, interval, form)
    return INTERRUPTED


@contextlib.contextmanager
def _looking(inventory: Path, hosts: tuple[str, ...], group: str | None, interval: float) -> Iterator[Look]:
    from ddtree_ops.adapters.clock import SystemClock
    from ddtree_ops.cli import targets
    from ddtree_ops.cli.exporter_fleet import over_ssh
    from ddtree_ops.exporter.fleet_wiring import observed
    from ddtree_ops.exporter.observers import Observers
    from ddtree_ops.exporter.sight.sights import Sights

    observers = Observers(
        lambda: targets.choose(targets.fleet(inventory), hosts, group),
        over_ssh,
        lambda target: _collectors(target, interval),
        SystemClock(),
    )
    sights = Sights()

    def look() -> tuple[float, Sequence[HostSight]]:
        now = time.time()
        return now, sights.update(observed(observers), now)

    # Collectors log on stderr what is told here as a host's state, and in the middle of a table it would be in the way.
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stderr(nowhere):
        try:
            observers.start()
            yield look
        finally:
            observers.close()


def _collectors(target: Target, interval: float) -> tuple[Collector, ...]:
    """What the journal told is remembered for the next time, so that only what is new has to be read."""
    from ddtree_ops.adapters.audit_file import state_directory
    from ddtree_ops.exporter.fleet_wiring import remote_collectors

    found = remote_collectors(target, state_directory() / "watch")
    return tuple(_Paced(one, interval) if one.name in _QUICK else one for one in found)


def _draw(look: Look, interval: float) -> None:
    from rich.console import Console

    from ddtree_ops.cli.watch_pause import pause
    from ddtree_ops.cli.watch_screen import Screen
    from ddtree_ops.cli.watch_table import table, worst

    console = Console(highlight=False)
    screen, symbols = Screen(console), console.encoding.lower().startswith("utf")

    def draw() -> None:
        now, sights = look()
        screen.draw(lambda width, height: table(worst(sights), now, width, height, symbols))

    def resumed() -> None:
        screen.begin()
        draw()

    try:
        with pause(screen.end, resumed) as until_next, until_next.stoppable():
            screen.begin()
            while True:
                draw()
                until_next.wait(interval)
    finally:
        screen.end()


def _tell(look: Look, interval: float, form: str) -> None:
    """Before a host was read nothing is known of it, and nothing told."""
    from ddtree_ops.cli.watch_lines import Changes, document, facts, lines, words
    from ddtree_ops.cli.watch_pause import pause
    from ddtree_ops.exporter.sight.model import State

    changes = Changes(facts if form == "json" else words)
    with pause() as until_next:
        while True:
            now, sights = look()
            when = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            for sight in changes.of(one for one in sights if one.state is not State.UNKNOWN or one.problem):
                for line in [document(sight, when)] if form == "json" else lines(sight, when, now):
                    click.echo(line)
            sys.stdout.flush()
            until_next.wait(interval)


def _is_terminal() -> bool:
    from ddtree_ops.cli.terminal import is_dumb

    return sys.stdout.isatty() and not is_dumb()
