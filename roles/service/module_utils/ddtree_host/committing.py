"""Commit: the current release has proved itself. The link `last-good` is the record; until it is on disk nothing is committed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import deadman, durable, lock, pruning, switching
from .fence import HostError
from .places import Places


@dataclass(frozen=True)
class Committed:
    """Whether anything changed, the releases that were pruned, and what went wrong after the commit was on disk."""

    changed: bool
    pruned: tuple[str, ...]
    warnings: tuple[str, ...]


def commit(places: Places, release: str, port: int, keep: int, audit: dict[str, Any]) -> Committed:
    """Raises HostError, OSError; not for old releases that can't be removed: the commit is on disk by then."""
    current, before = places.linked("current"), places.linked("last-good")
    if current != release:
        raise HostError(
            f"the current release is {current or 'none'}, not {release}: switch to it (switch.yml) before it is committed"
        )
    # The line comes first: an interruption between the two repeats a line rather than losing one.
    if before != release:
        fields = {"event": "commit", "release": release, "before": before or "", "port": port}
        lock.audit(str(places.audit), {**fields, **audit})
    changed = durable.link(places.root / "last-good", f"releases/{release}")
    changed |= deadman.disarm(places)
    changed |= bool(switching.clear_others(places, port))
    try:
        pruned = pruning.prune(places, keep)
    except Exception as error:  # noqa: BLE001 whatever lies among the releases
        return Committed(changed, (), (f"old releases were not removed: {type(error).__name__}: {error}",))
    return Committed(changed or bool(pruned), pruned, ())
